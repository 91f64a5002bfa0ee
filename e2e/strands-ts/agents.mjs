// Agents with a scripted model: no network, no key. What the last user message says is what the model does, see steps.
import { randomUUID } from 'node:crypto'
import { Agent, BeforeToolCallEvent, BeforeToolsEvent, ExecuteToolStage, Graph, Model, TextBlock, ToolResultBlock, tool } from '@strands-agents/sdk'
import { BeforeNodeCallEvent } from '@strands-agents/sdk/multiagent'
import { HumanInTheLoop } from '@strands-agents/sdk/vended-interventions/hitl'
import { handoffToUser } from '@strands-agents/sdk/vended-tools/handoff-to-user'
import { z } from 'zod'
import { wait } from './ledger.mjs'

// ---- the model -----------------------------------------------------------------------------------------------------

// steps reads "delete a.txt b.txt and delete c.txt then list @thread": what is divided by "then" are turns of the model,
// by "and" parallel calls. The name of the thread is no business of the model.
function steps(said) {
  return said.replace(/\s*@\S+/, '').split(' then ').map((step) => step.split(' and '))
}

const calls = {
  delete: (rest) => ['delete_files', { paths: rest.split(' ') }],
  list: () => ['list_files', {}],
  ask: (question) => ['ask_user', { question }],
  twice: () => ['confirm_twice', {}],
  hand: (message) => ['handoff_to_user', { message }],
  wait: (gate) => ['wait_at', { gate }],
  boom: () => ['explode', {}],
  child: (input) => ['helper', { input }],
  pick: (label) => ['pick_color', { label }], // a tool that the client declares
}

class Scripted extends Model {
  #ledger

  constructor(ledger) {
    super()
    this.#ledger = ledger
  }

  updateConfig() {}

  getConfig() {
    return { modelId: 'scripted' }
  }

  async *stream(messages) {
    this.#ledger.add('seen', { complaints: complaints(messages), results: results(messages) })
    for (const event of play(messages)) {
      await new Promise(setImmediate) // as from a network: what was sent before an exception is on its way
      yield event
    }
  }
}

function* play(messages) {
  const asked = messages.findLastIndex((m) => m.role === 'user' && words(m))
  const said = asked < 0 ? '' : words(messages[asked])
  const turns = messages.slice(asked + 1).filter((m) => m.content.some((b) => b.type === 'toolUseBlock')).length
  yield { type: 'modelMessageStartEvent', role: 'assistant' }
  let stopReason = 'endTurn'
  if (/^plain/.test(said)) {
    yield* text(`echo: ${said.replace(/\s*@\S+/, '')}`)
  } else if (/^think/.test(said)) {
    yield* block(undefined, [{ type: 'reasoningContentDelta', text: 'Let me ' }, { type: 'reasoningContentDelta', text: 'see.' }])
    yield* text('Thought.')
  } else if (/^fail/.test(said)) {
    yield { type: 'modelContentBlockStartEvent' }
    yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: 'I begin' } }
    throw new Error('the model went away')
  } else if (asked < 0 || turns >= steps(said).length) {
    yield* text('Done.')
  } else {
    yield* text('I will do it.')
    for (const call of steps(said)[turns]) {
      const [, word, rest] = /^(\S+)\s*(.*)$/.exec(call.trim())
      const [name, input] = calls[word] ? calls[word](rest) : [word, {}]
      const json = JSON.stringify(input)
      const pieces = json === '{}' ? [] : [json.slice(0, 7), json.slice(7)]
      const start = { type: 'toolUseStart', name, toolUseId: `tooluse_${randomUUID().replaceAll('-', '').slice(0, 22)}` }
      yield* block(start, pieces.map((input) => ({ type: 'toolUseInputDelta', input })))
    }
    stopReason = 'toolUse'
  }
  yield { type: 'modelMessageStopEvent', stopReason }
  yield { type: 'modelMetadataEvent', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 1 } }
}

// words are what a message says. A graph hands its nodes more texts behind the task.
const words = (message) => message.content.find((b) => b.type === 'textBlock')?.text ?? ''

const text = (all) => block(undefined, [{ type: 'textDelta', text: all.slice(0, 4) }, { type: 'textDelta', text: all.slice(4) }])

function* block(start, deltas) {
  yield { type: 'modelContentBlockStartEvent', ...(start && { start }) }
  for (const delta of deltas) yield { type: 'modelContentBlockDeltaEvent', delta }
  yield { type: 'modelContentBlockStopEvent' }
}

// results are those that the model is shown.
function results(messages) {
  const shown = messages.flatMap((m) => m.content.filter((b) => b.type === 'toolResultBlock'))
  return shown.map((b) => b.content.map((c) => c.text ?? JSON.stringify(c.json)).join(' '))
}

// complaints are what a provider would have refused in what the model is shown.
function complaints(messages) {
  const found = []
  if (!messages.length) found.push('no messages')
  if (messages.length && messages.at(-1).role !== 'user') found.push('the last message is not the user\'s')
  let open = new Set()
  for (const message of messages) {
    const results = message.content.filter((b) => b.type === 'toolResultBlock').map((b) => b.toolUseId)
    for (const id of results) if (!open.delete(id)) found.push(`a result for ${id}, which no call before it waits for`)
    if (!message.content.length) found.push('a message without content')
    const uses = message.content.filter((b) => b.type === 'toolUseBlock').map((b) => b.toolUseId)
    // The adapter makes one message of each call and of each result.
    if (open.size && !results.length && !uses.length) {
      found.push(`no result for ${[...open]} before the next message`)
      open = new Set()
    }
    for (const id of uses) open.add(id)
  }
  if (open.size) found.push(`no result for ${[...open]}`)
  return found
}

// ---- tools ---------------------------------------------------------------------------------------------------------

function tools(ledger) {
  const make = (name, shape, run) =>
    tool({ name, description: name, inputSchema: z.object(shape), callback: async (args, context) => run(args, context) })
  const does = (name, args, more) => ledger.add('effects', { name, args, ...more })
  return [
    make('delete_files', { paths: z.array(z.string()) }, ({ paths }) => {
      does('delete_files', { paths })
      for (const path of paths) ledger.remove(path)
      return { deleted: paths }
    }),
    make('list_files', {}, () => {
      does('list_files', {})
      return ['a.txt', 'b.txt']
    }),
    make('ask_user', { question: z.string() }, ({ question }, context) => {
      const answer = context.interrupt({ name: 'ask_user', reason: question })
      does('ask_user', { question }, { answer })
      return { answer }
    }),
    make('confirm_twice', {}, (_, context) => {
      const first = context.interrupt({ name: 'first', reason: { step: 1 } })
      const second = context.interrupt({ name: 'second', reason: { step: 2 } })
      does('confirm_twice', {}, { answer: [first, second] })
      return { first, second }
    }),
    make('wait_at', { gate: z.string() }, async ({ gate }) => {
      does('wait_at', { gate })
      await wait(gate)
      return 'waited'
    }),
    make('explode', {}, () => {
      does('explode', {})
      throw new Error('it went off')
    }),
    handoffToUser,
  ]
}

// ---- who asks, and for what ----------------------------------------------------------------------------------------

// documented is the hook of Strands' documentation: anything but a string is an exception in it, and SDK 1.19.0 runs the
// call whose hook threw.
function documented(agent, name = 'myapp-approval') {
  agent.addHook(BeforeToolCallEvent, (event) => {
    if (event.toolUse.name !== 'delete_files') return
    const approval = event.interrupt({ name, reason: { paths: event.toolUse.input.paths } })
    if (approval.toLowerCase() !== 'y') event.cancel = 'User denied permission to delete files'
  })
}

const isYes = (answer) => typeof answer === 'string' && answer.toLowerCase() === 'y'

const gates = {
  hook: (agent) => documented(agent),
  sequential: (agent) => documented(agent),
  two: (agent) => {
    documented(agent, 'first-eye')
    documented(agent, 'second-eye')
  },
  batch: (agent) =>
    agent.addHook(BeforeToolsEvent, (event) => {
      const names = event.message.content.filter((b) => b.type === 'toolUseBlock').map((b) => b.name)
      if (!names.includes('delete_files')) return
      if (event.interrupt({ name: 'myapp-batch', reason: { calls: names } }).toLowerCase() !== 'y') event.cancel = 'User denied the batch'
    }),
  middleware: (agent) =>
    agent.addMiddleware(ExecuteToolStage, async function* (context, next) {
      const { name, toolUseId } = context.toolUse
      if (name === 'delete_files' && !isYes(context.interrupt({ name: 'gate', reason: 'May I?' }).response)) {
        return { result: new ToolResultBlock({ toolUseId, status: 'error', content: [new TextBlock('denied by the gate')] }) }
      }
      return yield* next(context)
    }),
  vended: () => {},
}

export const modes = [...Object.keys(gates), 'graph', 'graph-hook']

const free = ['list_files', 'ask_user', 'confirm_twice', 'wait_at', 'explode', 'handoff_to_user', 'helper']

// asking is the gate of a mode as a plugin: the adapter makes an agent for each thread from one template.
export const asking = (mode) => ({ name: 'asking', initAgent: (agent) => void gates[mode](agent) })

export function agent(mode, ledger, options = {}) {
  const helper = new Agent({ model: new Scripted(ledger), tools: tools(ledger), printer: false, id: 'helper', name: 'helper' })
  return new Agent({
    model: new Scripted(ledger),
    tools: [...tools(ledger), helper],
    printer: false,
    ...(mode === 'sequential' && { toolExecutor: 'sequential' }),
    ...(mode === 'vended' && { interventions: [new HumanInTheLoop({ allowedTools: free })] }),
    ...options,
  })
}

// runner is what a raw server streams from: an agent, or a graph of two whose second one asks.
export function runner(mode, ledger, options) {
  if (!mode.startsWith('graph')) {
    return agent(mode, ledger, { ...options, plugins: [asking(mode)] })
  }
  const node = (id) => new Agent({ model: new Scripted(ledger), tools: tools(ledger), printer: false, id })
  const [planner, worker] = [new Agent({ model: new Planner(ledger), printer: false, id: 'planner' }), node('worker')]
  const graph = new Graph({ nodes: [planner, worker], edges: [['planner', 'worker']] })
  if (mode === 'graph') documented(worker)
  else {
    graph.addHook(BeforeNodeCallEvent, (event) => {
      if (event.nodeId === 'worker' && !isYes(event.interrupt({ name: 'node-gate', reason: { node: event.nodeId } }))) event.cancel = 'node denied'
    })
  }
  return graph
}

// Planner hands what was said on: a node is given the words of the one before it as a message of its own.
class Planner extends Scripted {
  async *stream() {
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield* text('planned')
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' }
  }
}
