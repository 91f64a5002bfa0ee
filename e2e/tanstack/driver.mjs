// Drives real chats of @tanstack/ai-client (ChatClient, fetchServerSentEvents) for a test that is written in another language.
//
// One JSON object per line on stdin: {"seq":n,"op":...}; one per line on stdout: {"seq":n,...}. It ends when stdin ends.
//
//   new     {client,url,threadId,tools?,storage?}   tools: raw, zod or none, of what the page has of delete_file;
//           storage: the name of a store that outlives the client, as a page's outlives a reload
//   say     {client,text}
//   answer  {client,answers:[{how,payload?}]}       one for each card, in the order of the cards. how: yes and no are a click
//           (resolveInterrupt(true)), edit is a click with payload as editedArgs, cancel, or give: resolveInterrupt(payload)
//   all     {client,approved}                       resolveInterrupts(true)
//   again   {client}                                the last answer once more, as it was sent
//
// Each answers {sent,cards,threw,error,status,texts}: the bodies that were sent, the cards as the page can draw them, what the
// call threw, the client's own error, and the assistant's texts.
import { toolDefinition } from '@tanstack/ai/client'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import readline from 'node:readline'
import { z } from 'zod'

const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n')
process.on('unhandledRejection', (e) => say({ seq: 0, stray: `unhandledRejection: ${e?.stack ?? e}` }))
process.on('uncaughtException', (e) => say({ seq: 0, stray: `uncaughtException: ${e?.stack ?? e}` }))

const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const asking = (inputSchema) => toolDefinition({ name: 'delete_file', description: 'Deletes a file.', inputSchema, needsApproval: true })
const pick = toolDefinition({ name: 'pick_colour', description: 'Picks a colour.', inputSchema: z.object({ label: z.string() }) })
const TOOLS = {
  raw: () => [asking(path).client()],
  zod: () => [asking(z.object({ path: z.string() })).client()],
  none: () => [],
  pick: () => [asking(z.object({ path: z.string() })).client(), pick.client(({ label }) => ({ picked: label }))],
}

const clients = new Map()
const stores = new Map()

function storage(name) {
  if (!stores.has(name)) stores.set(name, new Map())
  const kept = stores.get(name)
  return {
    getItem: (id) => kept.get(id) ?? null,
    setItem: (id, value) => void kept.set(id, structuredClone(value)),
    removeItem: (id) => void kept.delete(id),
  }
}

function open({ client, url, threadId, tools = 'none', storage: name }) {
  const kept = { sent: [], error: undefined, url }
  const fetchClient = (address, init) => {
    if (init?.body) kept.sent.push(JSON.parse(init.body))
    return fetch(address, init)
  }
  kept.chat = new ChatClient({
    threadId,
    tools: TOOLS[tools](),
    connection: fetchServerSentEvents(url, { fetchClient }),
    ...(name === undefined ? {} : { persistence: storage(name) }),
    onError: (e) => (kept.error = String(e?.message ?? e)),
  })
  clients.set(client, kept)
  return kept
}

// settled waits until the client has nothing under way: what a click begins is not awaited by the click.
async function settled({ chat }) {
  for (let idle = 0; idle < 3; ) {
    await new Promise((done) => setTimeout(done, 1))
    idle = chat.getIsLoading() || chat.getInterruptState().resuming ? 0 : idle + 1
  }
}

function show(kept, threw) {
  const sent = kept.sent.splice(0)
  const { interrupts, interruptErrors } = kept.chat.getInterruptState()
  return {
    sent,
    cards: interrupts.map((i) => ({
      kind: i.kind, id: i.id, message: i.message ?? '', canResolve: i.canResolve, toolName: i.toolName ?? '', args: i.originalArgs ?? null,
      schema: i.responseSchema ?? null, metadata: i.metadata ?? null, errors: i.errors.map((e) => e.message),
    })),
    refused: interruptErrors.map((e) => e.message),
    threw: threw === undefined ? '' : String(threw?.message ?? threw),
    error: kept.error ?? '',
    status: kept.chat.getStatus(),
    texts: kept.chat.getMessages().filter((m) => m.role === 'assistant').map((m) => m.parts.filter((p) => p.type === 'text').map((p) => p.content).join('')),
  }
}

const click = {
  yes: (card) => card.resolveInterrupt(true),
  no: (card) => card.resolveInterrupt(false),
  edit: (card, payload) => card.resolveInterrupt(true, { editedArgs: payload }),
  give: (card, payload) => card.resolveInterrupt(payload),
  cancel: (card) => card.cancel(),
}

const ops = {
  new: (args) => void open(args),
  say: ({ client, text }) => clients.get(client).chat.sendMessage(text),
  answer({ client, answers }) {
    const { chat } = clients.get(client)
    // Of several cards each click counts alone; the last of them sends.
    answers.forEach(({ how, payload }, n) => click[how](chat.getInterrupts()[n], payload))
  },
  all: ({ client, approved }) => clients.get(client).chat.resolveInterrupts(approved),
  async again({ client }) {
    const kept = clients.get(client)
    await fetch(kept.url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(kept.last) }).then((r) => r.text())
  },
}

say({ ready: true })
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { seq, op, ...args } = JSON.parse(line)
  void (async () => {
    let threw
    try {
      await ops[op](args)
    } catch (e) {
      threw = e
    }
    const kept = clients.get(args.client)
    await settled(kept)
    const shown = show(kept, threw)
    kept.last = shown.sent.at(-1) ?? kept.last
    kept.error = undefined
    say({ seq, ...shown })
  })()
}
process.exit(0)
