// Says what lenient servers make of a request: Express 4 and 5 with their usual parsers and multer, and node:http. Each is an agent that
// validates nothing, as many are that follow an example: it finds its thread, and an answer, wherever a body has the keys.
//
// Answers with one event: CUSTOM "verdict" with {"ran","thread","resume","command"}. Prints {"ports":{..}} and ends with its standard input.

import http from 'node:http'
import express4 from 'express4'
import express5 from 'express5'
import multer from 'multer'

const entries = (value) => (Array.isArray(value) ? value : value && typeof value === 'object' ? [value, ...Object.values(value)] : [])
const isAnswer = (one) => one && typeof one === 'object' && ['interruptId', 'interrupt_id', 'interrupts', 'interrupt'].some((key) => one[key] !== undefined)

function verdict(input) {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return { ran: false }
  const thread = input.threadId ?? input.thread_id
  const props = input.forwardedProps ?? input.forwarded_props
  const resume = entries(input.resume).some(isAnswer)
  const command = props?.command?.resume != null
  const begun = thread != null && [input.messages, input.runId, input.run_id].some((value) => value != null)
  return { ran: begun || resume || command, thread: Buffer.from(String(thread ?? '')).toString('hex'), resume, command }
}

function tell(response, input) {
  let value
  try {
    if (Buffer.isBuffer(input)) input = input.toString()
    value = verdict(typeof input === 'string' ? JSON.parse(input) : input)
  } catch {
    value = { ran: false }
  }
  response.setHeader('Content-Type', 'text/event-stream')
  response.end(`data: ${JSON.stringify({ type: 'CUSTOM', name: 'verdict', value })}\n\n`)
}

function withExpress(express) {
  const app = express()
  app.use(express.json({ limit: '64mb' }))
  app.use(express.urlencoded({ extended: true, limit: '64mb' }))
  app.use(express.text({ type: 'text/*', limit: '64mb' }))
  app.use(express.raw({ limit: '64mb' }))
  app.use(multer().any())
  app.all('/agent', (request, response) => tell(response, request.body))
  app.use((error, request, response, next) => response.status(error.status ?? 500).end())
  return app
}

const bare = (request, response) => {
  if (new URL(request.url, 'http://x').pathname !== '/agent') return response.writeHead(404).end()
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => tell(response, Buffer.concat(chunks)))
  request.on('error', () => response.destroy())
}

const ports = {}
for (const [name, handler] of Object.entries({ 'express 4': withExpress(express4), 'express 5': withExpress(express5), 'node:http': bare })) {
  const server = http.createServer(handler)
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  ports[name] = server.address().port
}
console.log(JSON.stringify({ ports }))
process.stdin.on('end', () => process.exit())
process.stdin.resume()
