// Runs a command in a process group of its own, of which this process is the leader. The whole
// group ends as soon as standard input does: also if whoever holds its other end was killed.
import { spawn } from 'node:child_process'

const [command, ...args] = process.argv.slice(2)
const end = () => process.kill(-process.pid, 'SIGKILL')
process.stdin.resume().on('close', end)
process.on('SIGTERM', () => {}) // the command ends in its own way
spawn(command, args, { stdio: ['ignore', 2, 2] }).on('error', end).on('exit', end)
