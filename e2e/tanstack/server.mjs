// Serves a chat of @tanstack/ai, POST /chat/agent, as its documentation writes it: chatParamsFromRequestBody, chat(),
// toServerSentEventsResponse. No model is called.
//
// It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"versions":{..}} on stdout and ends when its
// standard input ends, so that it never outlives the test that started it.
//
// A user message names the calls of one turn: "delete a.txt, delete b.txt" wants an approval of each. "pick red" is of a tool
// that only the client has. "confirm x" is a generic question of the application's own. Any other message is echoed.
//
//   GET /effects/{thread}   {"counts":{name:n},"effects":[..],"nodes":[],"runs":[the requests],"seen":[{"results":[..]}]}
import { chat, chatParamsFromRequestBody, defineInterrupt, defineChatMiddleware, mergeAgentTools, toolDefinition, toServerSentEventsResponse } from '@tanstack/ai'
import { BaseTextAdapter } from '@tanstack/ai/adapters'
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { z } from 'zod'

const { values: options } = parseArgs({ options: { port: { type: 'string', default: '0' }, ledger: { type: 'string' } } })

// ---- what really happened, by thread -------------------------------------------------------------------------------

const threads = new Map()
const of = (name) => threads.get(name) ?? threads.set(name, { effects: [], nodes: [], runs: [], seen: [] }).get(name)

function counted(kept) {
  const counts = {}
  for (const { name } of kept.effects) counts[name] = (counts[name] ?? 0) + 1
  return { counts, ...kept }
}

// ---- the model -----------------------------------------------------------------------------------------------------

let calls = 0

class Scripted extends BaseTextAdapter {
  name = 'scripted'
  async structuredOutput() {
    throw new Error('not scripted')
  }
  async *chatStream({ messages, threadId, runId }) {
    const at = messages.findLastIndex((m) => m.role === 'user')
    const content = messages[at].content
    const said = typeof content === 'string' ? content : content.map((p) => p.content ?? '').join('')
    const results = messages.slice(at).filter((m) => m.role === 'tool')
    of(threadId).seen.push({ results: results.map((m) => (typeof m.content === 'string' ? m.content : JSON.stringify(m.content))) })
    const orders = said.split(', ').filter((one) => /^(delete|pick) /.test(one))
    yield { type: 'RUN_STARTED', threadId, runId, timestamp: 1 }
    if (orders.length > 0 && results.length === 0) {
      const parentMessageId = `m-${++calls}`
      for (const order of orders) {
        const [verb, what] = order.split(' ')
        const toolCallId = `call-${++calls}`
        const [toolCallName, args] = verb === 'pick' ? ['pick_colour', { label: what }] : ['delete_file', { path: what }]
        yield { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId, timestamp: 1 }
        yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(args), timestamp: 1 }
        yield { type: 'TOOL_CALL_END', toolCallId, timestamp: 1 }
      }
      yield { type: 'RUN_FINISHED', threadId, runId, finishReason: 'tool_calls', timestamp: 1 }
      return
    }
    const messageId = `m-${++calls}`
    yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', timestamp: 1 }
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: results.length > 0 ? `done: ${results.length}` : `echo: ${said}`, timestamp: 1 }
    yield { type: 'TEXT_MESSAGE_END', messageId, timestamp: 1 }
    yield { type: 'RUN_FINISHED', threadId, runId, finishReason: 'stop', timestamp: 1 }
  }
}

// ---- the chat ------------------------------------------------------------------------------------------------------

const remove = toolDefinition({ name: 'delete_file', description: 'Deletes a file.', inputSchema: z.object({ path: z.string() }), needsApproval: true })
const confirm = defineInterrupt({ id: 'confirm', payloadSchema: z.object({ what: z.string() }), responseSchema: z.object({ sure: z.boolean() }) })

async function answer(body) {
  const params = await chatParamsFromRequestBody(body)
  const kept = of(params.threadId)
  kept.runs.push(body)
  const said = body.messages.filter((m) => m.role === 'user').at(-1)?.content ?? ''
  const what = /^confirm (.*)/.exec(said)?.[1]
  const middleware = defineChatMiddleware({
    name: 'confirms',
    onInterruptBoundary: ({ phase }) =>
      what !== undefined && phase === 'beforeModel' && !params.resume
        ? { interrupts: [confirm.interrupt({ key: 'k', reason: 'confirm', message: `Sure about ${what}?`, payload: { what } })] }
        : undefined,
    onInterruptResolution: (_, resolutions) => {
      for (const r of resolutions.for(confirm)) if (r.response?.sure) kept.effects.push({ name: 'confirmed', args: { what } })
      return { toolResume: 'continue' }
    },
  })
  const stream = chat({
    adapter: new Scripted({}, 'scripted'),
    messages: params.messages,
    threadId: params.threadId,
    runId: params.runId,
    parentRunId: params.parentRunId,
    resume: params.resume,
    interrupts: [confirm],
    middleware: [middleware],
    tools: mergeAgentTools(
      [
        remove.server(({ path }) => {
          kept.effects.push({ name: 'delete_file', args: { path } })
          return { deleted: path }
        }),
      ],
      params.tools,
    ),
  })
  return toServerSentEventsResponse(stream)
}

const server = createServer(async (req, res) => {
  const json = (status, value) => res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
  try {
    const effects = /^\/effects\/(.+)$/.exec(req.url)
    if (effects) return json(200, counted(of(decodeURIComponent(effects[1]))))
    let body = ''
    for await (const chunk of req) body += chunk
    const response = await answer(JSON.parse(body))
    res.writeHead(response.status, Object.fromEntries(response.headers))
    Readable.fromWeb(response.body).pipe(res)
  } catch (e) {
    console.error(e)
    json(500, { error: String(e) })
  }
})

process.stdin.on('end', () => process.exit(0)).resume()
const version = (name) => JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url))).version
server.listen(Number(options.port), '127.0.0.1', () => {
  console.log(JSON.stringify({ port: server.address().port, modes: ['chat'], versions: { '@tanstack/ai': version('@tanstack/ai') } }))
})
