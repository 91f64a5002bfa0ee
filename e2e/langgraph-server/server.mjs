// LangGraph's own server, behind a port that counts the runs, shows the ledger, and can break a
// connection. It is the one for JavaScript, or the one of a Python with --python.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import { createServer as reserve } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const options = Object.fromEntries(process.argv.slice(2).map((a, n, all) => [a.replace('--', ''), all[n + 1]]))
const here = dirname(fileURLToPath(import.meta.url))
const ledger = options.ledger
// What the server keeps lies beside its configuration, so each has a folder of its own.
const app = join(ledger, 'app')
mkdirSync(app, { recursive: true })
for (const name of options.python ? ['langgraph.json', 'graphs.py', 'tells.py', 'pays.py'] : ['langgraph.json', 'package.json', 'src']) {
  cpSync(join(options.app ?? here, name), join(app, name), { recursive: true })
}
if (options.python) cpSync(join(here, '..', 'langgraph-mcp', 'elicits.py'), join(app, 'elicits.py'))
if (!options.python && !existsSync(join(app, 'node_modules'))) symlinkSync(join(here, 'node_modules'), join(app, 'node_modules'))

const command = options.python
  ? [options.python, '-m', 'langgraph_cli']
  : [process.execPath, join(here, 'node_modules', '.bin', 'langgraphjs')]

const free = () =>
  new Promise((resolve) => {
    const s = reserve().listen(0, '127.0.0.1', () => {
      const { port } = s.address()
      s.close(() => resolve(port))
    })
  })

let port, child
async function start() {
  port ??= await free()
  child = spawn(
    process.execPath,
    [join(here, 'held.mjs'), ...command, 'dev', '--no-browser', '--no-reload', '--host', '127.0.0.1', '--port', String(port)],
    // Its group is its own, for a restart. It ends with its standard input, so also with this process.
    { cwd: app, detached: true, stdio: ['pipe', 2, 2], env: { ...process.env, LEDGER: ledger, LANGSMITH_TRACING: 'false' } },
  )
  for (let tries = 0; tries < 600; tries++) {
    try {
      if ((await fetch(`http://127.0.0.1:${port}/ok`)).ok) return
    } catch {}
    await new Promise((r) => setTimeout(r, 100))
  }
  throw new Error('the server does not start')
}
// The server for JavaScript writes its files three seconds after the last change, and again at
// SIGTERM. Its command line does not wait for that, and held.mjs ends the group with it: a file may
// be half written then. So such a server ends when its files are whole.
let touched = 0 // when the last answer ended
async function written() {
  const files = ['.langgraphjs_ops.json', '.langgraphjs_api.checkpointer.json'].map((name) => join(app, '.langgraph_api', name))
  for (let tries = 0; tries < 600; tries++) {
    try {
      const since = touched
      if (files.every((f) => statSync(f).mtimeMs >= since && JSON.parse(readFileSync(f, 'utf8')))) return
    } catch {}
    await new Promise((r) => setTimeout(r, 100))
  }
  throw new Error('the server does not write down what it has')
}
// The server for Python writes down what it has at SIGTERM.
async function stop(signal = 'SIGKILL') {
  const gone = new Promise((r) => child.on('exit', r))
  try {
    process.kill(-child.pid, signal)
  } catch {}
  await gone
}

const ids = new Map() // the server's thread to the client's
const runs = []
const cuts = new Set() // of threads whose next run's connection breaks

function noted(thread, name) {
  const file = join(ledger, name)
  const list = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map((l) => JSON.parse(l)) : []
  return list.filter((e) => (ids.get(e.thread) ?? e.thread) === thread)
}

const effects = (thread) => ({
  Effects: noted(thread, 'effects.jsonl').map((e) => ({ Name: e.name, Args: e.args })),
  Seen: noted(thread, 'seen.jsonl'),
  Runs: runs.filter((r) => r.thread === thread),
})

async function bodyOf(req) {
  const parts = []
  for await (const p of req) parts.push(p)
  return Buffer.concat(parts)
}

// The TypeScript adapter before the server: POST /adapter/<graph>.
async function adapt(graph, input, res) {
  const { LangGraphAgent } = await import('@ag-ui/langgraph')
  const agent = new LangGraphAgent({ deploymentUrl: `http://127.0.0.1:${front.address().port}`, graphId: graph, threadId: input.threadId })
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  agent.run(input).subscribe({
    next: (e) => res.write(`data: ${JSON.stringify(e)}\n\n`),
    error: (e) => (console.error(e), res.destroy()),
    complete: () => res.end(),
  })
}

const front = createServer(async (req, res) => {
  const [, first, second] = decodeURIComponent(req.url).split('/')
  if (first === 'effects') {
    res.writeHead(200, { 'content-type': 'application/json' })
    return res.end(JSON.stringify(effects(second)))
  }
  if (first === 'cut') {
    cuts.add(second)
    return res.end()
  }
  if (first === 'lose' || first === 'restart') {
    if (first === 'restart' && !options.python) await written()
    await stop(first === 'restart' && options.python ? 'SIGTERM' : 'SIGKILL')
    if (first === 'lose') rmSync(join(app, '.langgraph_api'), { recursive: true, force: true })
    await start()
    return res.end()
  }
  const body = await bodyOf(req)
  const told = body.length ? JSON.parse(body) : {}
  if (first === 'adapter') return adapt(second, told, res)
  if (req.method === 'POST' && req.url === '/threads') ids.set(told.thread_id, told.metadata?.agui_thread_id)
  const thread = ids.get(second) ?? second
  const isRun = req.method === 'POST' && req.url.endsWith('/runs/stream')
  if (isRun) runs.push({ thread, Command: told.command?.resume, Key: req.headers['x-api-key'], Auth: req.headers.authorization })
  const breaks = isRun && cuts.delete(thread)
  // Each connection is its own: what a side says of its own is not the other's.
  const { connection: _, ...headers } = req.headers
  const up = send({ port, host: '127.0.0.1', agent: false, method: req.method, path: req.url, headers }, (answer) => {
    const { connection: _, 'transfer-encoding': __, ...told } = answer.headers
    res.writeHead(answer.statusCode, told)
    let frames = 0
    answer.on('data', (p) => {
      res.write(p)
      if (breaks && ++frames === 2) setTimeout(() => (res.destroy(), up.destroy()), 20)
    })
    answer.on('end', () => ((touched = Date.now()), res.end()))
    answer.on('error', () => res.destroy())
  })
  up.on('error', (e) => (console.error(req.method, req.url, e), res.destroy())) // what the server did is in its log
  res.on('close', () => up.destroy())
  up.end(body)
})

await start()
front.listen(Number(options.port), '127.0.0.1', () => {
  console.log(JSON.stringify({ port: front.address().port, modes: ['server'], versions: process.versions }))
})
process.stdin.resume().on('end', async () => {
  await stop()
  process.exit(0)
})
