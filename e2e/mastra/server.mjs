// Serves agents of Mastra over @ag-ui/mastra, POST /<mode>/<agent>. No model is called.
//
// It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"versions":{..}} on stdout and ends when its
// standard input ends, so that it never outlives the test that started it.
//
// Modes: "outcome" is @ag-ui/mastra 1.1.2 with its defaults, "quiet" is the same without the outcome, "old" is 1.0.3. Both of
// these announce a pause by CUSTOM on_interrupt only.
// Agents: "agent", whose tool says what it wants to be answered, "free", whose tool does not, "guarded", whose tool needs an
// approval, and "mixed", whose one tool needs one and whose other, "mail bob", suspends.
//
// A user message that begins with "plain" is answered with an echo. Any other names the calls of one turn: "delete a.txt, delete
// b.txt". "pick x" is of a tool that the client declares. "then" begins the next turn: "delete a.txt then delete b.txt". The tools of "free" and "agent" ask once more where the
// answer has "again". All fail for locked.txt, and take half a second for slow.txt. "break" ends the model's answer in an error.
//
// --store is a file in which what waits outlives the server. Without it that is kept in memory.
//
//   GET /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[],"runs":[..],"seen":[]}
import { MastraAgent } from '@ag-ui/mastra'
import { MastraAgent as OldAgent } from '@ag-ui/mastra-1.0.3'
import { EventEncoder } from '@ag-ui/encoder'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { LibSQLStore } from '@mastra/libsql'
import { createTool } from '@mastra/core/tools'
import { AsyncLocalStorage } from 'node:async_hooks'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'
import { z } from 'zod'

const { values: options } = parseArgs({ options: { port: { type: 'string', default: '0' }, ledger: { type: 'string' }, store: { type: 'string' } } })

// ---- what really happened, by thread -------------------------------------------------------------------------------

const thread = new AsyncLocalStorage()
const threads = new Map()
const of = (name) => threads.get(name) ?? threads.set(name, { effects: [], nodes: [], runs: [], seen: [] }).get(name)
const effect = (name, args) => of(thread.getStore()).effects.push({ name, args })

function counted(kept) {
  const counts = {}
  for (const { name } of kept.effects) counts[name] = (counts[name] ?? 0) + 1
  return { counts, ...kept }
}

// ---- agents --------------------------------------------------------------------------------------------------------

const deletes = (more) =>
  createTool({
    id: 'delete_file',
    description: 'Deletes a file.',
    inputSchema: z.object({ path: z.string() }),
    outputSchema: z.any(),
    ...more,
    execute: async (input, context) => {
      const answer = context?.agent?.resumeData ?? context?.resumeData
      if (answer == null) return (context?.agent?.suspend ?? context?.suspend)({ question: `Delete ${input.path}?` })
      if (answer !== 'yes' && answer.approved !== true) return { refused: true }
      if (answer.again) return (context?.agent?.suspend ?? context?.suspend)({ question: `Really delete ${input.path}?` })
      return remove(input.path)
    },
  })

async function remove(path) {
  if (path === 'locked.txt') throw new Error('locked')
  if (path === 'slow.txt') await new Promise((done) => setTimeout(done, 500))
  effect('delete_file', { path })
  return { deleted: path }
}

const TOOLS = {
  agent: deletes({ suspendSchema: z.object({ question: z.string() }), resumeSchema: z.object({ approved: z.boolean(), again: z.boolean().optional() }) }),
  free: deletes({}),
  guarded: createTool({
    id: 'delete_file',
    description: 'Deletes a file.',
    inputSchema: z.object({ path: z.string() }),
    outputSchema: z.any(),
    requireApproval: true,
    execute: ({ path }) => remove(path),
  }),
}

const text = (m) => (typeof m.content === 'string' ? m.content : m.content.filter((p) => p.type === 'text').map((p) => p.text).join(' '))
let calls = 0

function turn(prompt) {
  const last = prompt.at(-1)
  const said = prompt.findLastIndex((m) => m.role === 'user')
  const results = prompt.slice(said).filter((m) => m.role === 'tool')
  of(thread.getStore()).seen.push({ results: results.flatMap((m) => m.content.map((p) => JSON.stringify(p.output ?? p.result))) })
  const order = text(prompt[said]).split(' then ')[results.length]
  if (order === undefined) return { text: 'results: ' + JSON.stringify(last.content.map((p) => p.output ?? p.result)) }
  if (order === 'break') return { text: 'I am', error: new Error('the model broke') }
  if (!/^(delete|mail|pick)/.test(order)) return { text: 'echo: ' + order }
  const named = (one) => {
    const [verb, what] = one.split(' ')
    if (verb === 'pick') return ['pick_colour', { label: what }] // a tool that the client declares
    return verb === 'mail' ? ['send_mail', { to: what }] : ['delete_file', { path: what }]
  }
  return {
    calls: order.split(', ').map((one) => {
      const [toolName, input] = named(one)
      return { type: 'tool-call', toolCallId: `call-${++calls}-${process.pid}`, toolName, input: JSON.stringify(input) }
    }),
  }
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
const model = {
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const { text, calls } = turn(prompt)
    return { content: calls ?? [{ type: 'text', text }], finishReason: calls ? 'tool-calls' : 'stop', usage, warnings: [] }
  },
  async doStream({ prompt }) {
    const { text, calls, error } = turn(prompt)
    const parts = [{ type: 'stream-start', warnings: [] }]
    if (calls) parts.push(...calls)
    else parts.push({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: text }, { type: 'text-end', id: 't' })
    if (error) parts.push({ type: 'error', error })
    else parts.push({ type: 'finish', finishReason: calls ? 'tool-calls' : 'stop', usage })
    return {
      stream: new ReadableStream({
        start(controller) {
          for (const part of parts) controller.enqueue(part)
          controller.close()
        },
      }),
    }
  },
}

const sendMail = createTool({
  id: 'send_mail',
  description: 'Sends a mail.',
  inputSchema: z.object({ to: z.string() }),
  outputSchema: z.any(),
  execute: async ({ to }, context) => {
    const answer = context?.agent?.resumeData ?? context?.resumeData
    if (answer == null) return (context?.agent?.suspend ?? context?.suspend)({ question: `Mail ${to}?` })
    if (answer !== 'yes' && answer.approved !== true) return { refused: true }
    effect('send_mail', { to })
    return { sent: to }
  },
})

const agents = {}
for (const [name, tool] of Object.entries(TOOLS)) agents[name] = new Agent({ id: name, name, instructions: 'x', model, tools: { delete_file: tool } })
agents.mixed = new Agent({ id: 'mixed', name: 'mixed', instructions: 'x', model, tools: { delete_file: TOOLS.guarded, send_mail: sendMail } })
const storage = options.store ? new LibSQLStore({ id: 'file', url: 'file:' + options.store }) : new InMemoryStore({ id: 'memory' })
const mastra = new Mastra({ agents, storage, logger: false })

// ---- the server ----------------------------------------------------------------------------------------------------

const MODES = { outcome: [MastraAgent, {}], quiet: [MastraAgent, { emitInterruptOutcome: false }], old: [OldAgent, {}] }
const encoder = new EventEncoder({ accept: 'text/event-stream' })

async function run(request, response, [Adapter, more], name) {
  let body = ''
  for await (const piece of request) body += piece
  const input = JSON.parse(body)
  of(input.threadId).runs.push({ mode: request.url, resume: input.resume ?? input.forwardedProps?.command?.resume })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const agent = new Adapter({ agent: mastra.getAgent(name), agentId: name, resourceId: 'resource', ...more })
  thread.run(input.threadId, () =>
    agent.run(input).subscribe({
      next: (event) => response.write(encoder.encodeSSE(event)),
      error: (problem) => response.end(encoder.encodeSSE({ type: 'RUN_ERROR', message: String(problem?.message ?? problem) })),
      complete: () => response.end(),
    }),
  )
}

const server = createServer((request, response) => {
  const [, first, second] = decodeURIComponent(request.url).split('/')
  if (first === 'effects') {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(counted(of(second))))
  } else if (request.method === 'POST' && MODES[first] && agents[second]) {
    run(request, response, MODES[first], second)
  } else {
    response.writeHead(404).end()
  }
})
server.listen(Number(options.port), '127.0.0.1', () => {
  console.log(JSON.stringify({ port: server.address().port, modes: Object.keys(MODES), versions: process.versions }))
})
process.stdin.resume().on('end', () => process.exit(0))
