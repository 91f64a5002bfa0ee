// Runs a command in a process group of its own, of which this process is the leader. The whole
// group ends as soon as standard input does: also if whoever holds its other end was killed.
import { spawn } from 'node:child_process'

const end = () => process.kill(-process.pid, 'SIGKILL')
process.stdin.resume().on('close', end)
spawn(process.execPath, process.argv.slice(2), { stdio: ['ignore', 2, 2] }).on('error', end).on('exit', end)
