// Graphs without a model: what they say follows from the last words of the person. Each effect is a
// line of the ledger.
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { Annotation, END, MessagesAnnotation, Send, START, StateGraph, interrupt } from '@langchain/langgraph'

const S = Annotation.Root({
  ...MessagesAnnotation.spec,
  done: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
})

let seq = 0
const unique = (what: string) => `${what}-${process.pid}-${Date.now()}-${seq++}`

function note(config: any, file: string, what: object) {
  const folder = process.env.LEDGER!
  mkdirSync(folder, { recursive: true })
  const thread = config.metadata?.agui_thread_id ?? config.configurable?.thread_id
  appendFileSync(join(folder, file), JSON.stringify({ thread, ...what }) + '\n')
}
const effect = (config: any, name: string, args: unknown) => note(config, 'effects.jsonl', { name, args })

const pause = (ms: number) => new Promise((r) => setTimeout(r, ms))

// What is said behind the person's last words, and what they ask for, a turn at a time.
function turn(s: any) {
  const at = s.messages.findLastIndex((m: any) => m.getType() === 'human')
  const order = String(s.messages[at]?.content ?? '')
  const since = s.messages.slice(at + 1)
  const turns = since.filter((m: any) => m.getType() === 'ai').length
  return { order, step: order.startsWith('delete ') ? order.split(' then ')[turns] : undefined, since }
}

async function model(s: any, config: any) {
  const { order, step, since } = turn(s)
  if (order.startsWith('throw')) throw new Error('kaput')
  if (order.startsWith('plain and slow')) await pause(1500)
  const results = since.filter((m: any) => m.getType() === 'tool').map((m: any) => m.content)
  note(config, 'seen.jsonl', { Results: results })
  if (step === undefined) {
    const content = results.length ? 'done: ' + results.join('; ') : 'echo: ' + order
    return { messages: [new AIMessage({ id: unique('ai'), content })] }
  }
  const calls = step.split(', ').map((part: string) => ({
    id: unique('call'), name: 'delete_file', args: { path: part.replace('delete ', '') }, type: 'tool_call' as const,
  }))
  return { messages: [new AIMessage({ id: unique('ai'), content: '', tool_calls: calls })] }
}

// A tool that fails in the middle of what it does. LangGraph then keeps the answer.
function breaks(args: any) {
  if (args.path === 'broken.txt') throw new Error('kaput')
}

async function act({ call }: any, config: any) {
  const answer: any = interrupt({
    actionRequests: [{ name: call.name, args: call.args, description: `Delete ${call.args.path}?` }],
    reviewConfigs: [{ actionName: call.name, allowedDecisions: ['approve', 'edit', 'reject'] }],
  })
  const decision = answer.decisions[0]
  let content = ['not deleted', decision.message].filter(Boolean).join(': ')
  if (decision.type === 'approve' || decision.type === 'edit') {
    const args = decision.type === 'edit' ? decision.editedAction.args : call.args
    effect(config, 'delete_file', args)
    breaks(args)
    if (args.path === 'slow.txt') await pause(1500)
    content = 'deleted ' + args.path
  }
  return { messages: [new ToolMessage({ id: unique('tool'), tool_call_id: call.id, name: call.name, content })], done: [content] }
}

export const agent = new StateGraph(S)
  .addNode('model', model)
  .addNode('act', act as any)
  .addEdge(START, 'model')
  .addConditionalEdges('model', (s: any) => {
    const calls = s.messages.at(-1).tool_calls ?? []
    return calls.length ? calls.map((call: any) => new Send('act', { call })) : END
  }, ['act', END])
  .addEdge('act', 'model')
  .compile()

// A static breakpoint before what it does.
export const stop = new StateGraph(S)
  .addNode('model', model)
  .addNode('act', async (s: any, config: any) => {
    const [call] = s.messages.at(-1).tool_calls
    effect(config, call.name, call.args)
    return { messages: [new ToolMessage({ id: unique('tool'), tool_call_id: call.id, name: call.name, content: 'deleted' })] }
  })
  .addEdge(START, 'model')
  .addConditionalEdges('model', (s: any) => ((s.messages.at(-1).tool_calls ?? []).length ? 'act' : END), ['act', END])
  .addEdge('act', 'model')
  .compile({ interruptBefore: ['act'] })

// A question in a tool's node, of no known shape: nothing but a clear yes deletes.
export const free = new StateGraph(S)
  .addNode('model', model)
  .addNode('act', async (s: any, config: any) => {
    const [call] = s.messages.at(-1).tool_calls
    const answer: any = interrupt({ question: `Delete ${call.args.path}?` })
    if (answer && answer !== 'no' && answer.approved !== false) {
      effect(config, call.name, call.args)
      breaks(call.args)
    }
    return { messages: [new ToolMessage({ id: unique('tool'), tool_call_id: call.id, name: call.name, content: JSON.stringify(answer) })] }
  })
  .addEdge(START, 'model')
  .addConditionalEdges('model', (s: any) => ((s.messages.at(-1).tool_calls ?? []).length ? 'act' : END), ['act', END])
  .addEdge('act', 'model')
  .compile()

// Asks with a value of its own, and takes one of its own for the yes.
export const values = new StateGraph(S)
  .addNode('model', model)
  .addNode('act', (async ({ call }: any, config: any) => {
    const answer: any = interrupt({ action: call.name, args: call.args })
    if (answer?.go === true) effect(config, call.name, answer.args)
    return { messages: [new ToolMessage({ id: unique('tool'), tool_call_id: call.id, name: call.name, content: JSON.stringify(answer) })] }
  }) as any)
  .addEdge(START, 'model')
  .addConditionalEdges('model', (s: any) => {
    const calls = s.messages.at(-1).tool_calls ?? []
    return calls.length ? calls.map((call: any) => new Send('act', { call })) : END
  }, ['act', END])
  .addEdge('act', 'model')
  .compile()
