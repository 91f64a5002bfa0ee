// What really happened, by thread, and the gates at which a tool waits. The tools delete real files, so that what is left
// can be counted too.
import { AsyncLocalStorage } from 'node:async_hooks'
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const thread = new AsyncLocalStorage()

// within runs what belongs to one request, of a thread.
export const within = (name, run) => thread.run(name, run)

export class Ledger {
  #folder
  #lines = []

  // The folder keeps the ledger, the files and the sessions; all of it outlives the process.
  constructor(folder) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
    if (existsSync(this.#path)) this.#lines = readFileSync(this.#path, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
  }

  get #path() {
    return join(this.#folder, 'ledger.jsonl')
  }

  get sessions() {
    return join(this.#folder, 'sessions')
  }

  // add notes an entry of a list: effects, runs, seen or threads.
  add(list, entry) {
    const line = { list, thread: thread.getStore() ?? '', entry }
    this.#lines.push(line)
    appendFileSync(this.#path, JSON.stringify(line) + '\n')
  }

  #of(list, name) {
    return this.#lines.filter((line) => line.list === list && line.thread === name).map((line) => line.entry)
  }

  of(name) {
    const effects = this.#of('effects', name)
    const counts = {}
    for (const effect of effects) counts[effect.name] = (counts[effect.name] ?? 0) + 1
    return { counts, effects, runs: this.#of('runs', name), seen: this.#of('seen', name), files: readdirSync(this.#files(name)).sort() }
  }

  // threadOf is the thread that a session of a raw server belongs to: Holdpoint sends a digest of the thread's id, and the
  // first prompt names the thread.
  threadOf(session, prompt) {
    const named = /@(\S+)/.exec(typeof prompt === 'string' ? prompt : '')?.[1]
    if (named) within(named, () => this.add('threads', session))
    return this.#lines.findLast((line) => line.list === 'threads' && line.entry === session)?.thread ?? ''
  }

  // files are those of a thread, three at first.
  #files(name) {
    const folder = join(this.#folder, 'files', encodeURIComponent(name || '-'))
    if (!existsSync(folder)) {
      mkdirSync(folder, { recursive: true })
      for (const file of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(join(folder, file), 'kept\n')
    }
    return folder
  }

  // remove deletes a file of the thread; one that is gone throws.
  remove(file) {
    rmSync(join(this.#files(thread.getStore()), encodeURIComponent(file)))
  }
}

const gates = new Map()

function gate(name) {
  if (!gates.has(name)) {
    const one = { reached: false }
    one.opened = new Promise((open) => (one.open = open))
    gates.set(name, one)
  }
  return gates.get(name)
}

export const reached = (name) => gate(name).reached

export const open = (name) => gate(name).open()

export async function wait(name) {
  gate(name).reached = true
  await gate(name).opened
}
