// Serves the agents of agents.mjs, raw in the forms of Strands' documentation and through @ag-ui/aws-strands.
//
// It binds a free port of 127.0.0.1, prints one JSON line {"port":..,"modes":[..],"versions":{..}} on stdout and ends when
// its standard input ends, so that it never outlives the test that started it. A mode is <form>/<mode>; it takes POSTs on
// that path and below it. The forms:
//
//   ndjson  the Express example: {"prompt"} in, a line for each event, no content type, and nobody catches an exception
//   sse     the same as an event stream, which ends with a frame for an exception
//   json    no stream: {"response": <result>}, the AgentCore example
//   fresh   ndjson with an agent made for each request, as the Express example does
//   saved   sse with a session manager: the agent is rebuilt from its files for each request
//   agui    the adapter
//
// Beside the agents:
//   GET  /effects/{thread}  {"counts":{name:n},"effects":[..],"runs":[..],"seen":[..],"files":[..]}
//   GET  /gates/{name}      {"reached":bool}: is a tool waiting there
//   POST /gates/{name}      lets it go on
import { StrandsAgent } from '@ag-ui/aws-strands'
import { addStrandsExpressEndpoint } from '@ag-ui/aws-strands/server'
import { FileStorage, SessionManager } from '@strands-agents/sdk'
import express from 'express'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { agent, asking, modes, runner } from './agents.mjs'
import { Ledger, open, reached, within } from './ledger.mjs'

const { values: options } = parseArgs({ options: { port: { type: 'string', default: '0' }, ledger: { type: 'string' } } })
const ledger = new Ledger(options.ledger ?? mkdtempSync(join(tmpdir(), 'strands-ts-')))
const app = express()
const served = []

app.get('/effects/:thread', (request, response) => response.json(ledger.of(request.params.thread)))
app.get('/gates/:name', (request, response) => response.json({ reached: reached(request.params.name) }))
app.post('/gates/:name', (request, response) => {
  open(request.params.name)
  response.json({})
})
app.use(express.json())

// ---- raw servers ---------------------------------------------------------------------------------------------------

const living = new Map()

// of is the agent of a request: the one of its session, unless the form has it otherwise.
function of(form, mode, session) {
  if (form === 'fresh') return runner(mode, ledger)
  if (form === 'saved') {
    const sessionManager = new SessionManager({ sessionId: session, storage: { snapshot: new FileStorage(ledger.sessions) } })
    return runner(mode, ledger, { id: 'saved', sessionManager })
  }
  const key = `${form}/${mode}/${session}`
  if (!living.has(key)) living.set(key, runner(mode, ledger))
  return living.get(key)
}

async function lines(stream, response) {
  for await (const event of stream) response.write(`${JSON.stringify(event)}\n`)
  response.end()
}

async function events(stream, response) {
  response.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  try {
    for await (const event of stream) response.write(`data: ${JSON.stringify(event)}\n\n`)
  } catch (error) {
    response.write(`data: ${JSON.stringify({ error: error.message, error_type: error.name })}\n\n`)
  }
  response.end()
}

const forms = { ndjson: lines, sse: events, fresh: lines, saved: events }

function serveRaw(form, mode, answer) {
  served.push(`${form}/${mode}`)
  app.post([`/${form}/${mode}`, `/${form}/${mode}/*below`], async (request, response) => {
    const session = request.get('x-amzn-bedrock-agentcore-runtime-session-id') ?? ''
    const prompt = request.body?.prompt
    await within(ledger.threadOf(session, prompt), async () => {
      ledger.add('runs', { mode: `${form}/${mode}`, path: request.path, session, prompt })
      await answer(of(form, mode, session), prompt, response)
    })
  })
}

for (const mode of modes) {
  for (const [form, write] of Object.entries(forms)) {
    serveRaw(form, mode, (runner, prompt, response) => write(runner.stream(prompt), response))
  }
  serveRaw('json', mode, async (runner, prompt, response) => response.json({ response: await runner.invoke(prompt) }))
}

// ---- the adapter ---------------------------------------------------------------------------------------------------

const sessionManagerProvider = ({ threadId }) => new SessionManager({ sessionId: threadId, storage: { snapshot: new FileStorage(ledger.sessions) } })
const adapters = modes.filter((mode) => !mode.startsWith('graph')).map((mode) => [mode, mode, {}])
adapters.push(['kept', 'sequential', { config: { sessionManagerProvider } }]) // the sessions are kept in files

for (const [place, mode, more] of adapters) {
  const path = `/agui/${place}`
  served.push(`agui/${place}`)
  app.use(path, (request, _, next) =>
    within(request.body?.threadId ?? '', () => {
      ledger.add('runs', { mode: `agui/${place}`, resume: request.body?.resume })
      next()
    }),
  )
  addStrandsExpressEndpoint(app, new StrandsAgent({ agent: agent(mode, ledger), name: place, plugins: [asking(mode)], ...more }), { path })
}

// ---- start and end -------------------------------------------------------------------------------------------------

const versions = {}
for (const name of ['@strands-agents/sdk', '@ag-ui/aws-strands']) {
  versions[name] = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version
}
const listening = app.listen(Number(options.port), '127.0.0.1', (error) => {
  if (error) throw error
  process.stdout.write(JSON.stringify({ port: listening.address().port, modes: served, versions }) + '\n')
})
process.stdin.on('end', () => process.exit(0)).on('close', () => process.exit(0)).resume()
