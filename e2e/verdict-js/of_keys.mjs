// Says how many keys JSON.parse finds in a text. As verdict/of_keys.py.

import readline from 'node:readline'

const keys = (value) => (value && typeof value === 'object' ? Object.values(value).reduce((n, v) => n + keys(v), Array.isArray(value) ? 0 : Object.keys(value).length) : 0)

for await (const line of readline.createInterface({ input: process.stdin })) {
  let n = -1
  try {
    n = keys(JSON.parse(Buffer.from(line, 'hex').toString()))
  } catch {}
  console.log(JSON.stringify({ 'JSON.parse': n }))
}
