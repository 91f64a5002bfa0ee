// A Mastra agent that asks before it deletes a file, as an AG-UI endpoint.
import { EventEncoder } from '@ag-ui/encoder'
import { MastraAgent } from '@ag-ui/mastra'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { z } from 'zod'

const deleteFile = createTool({
  id: 'delete_file',
  description: 'Delete a file.',
  inputSchema: z.object({ path: z.string() }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ approved: z.boolean() }),
  execute: async ({ path }, { agent: { resumeData, suspend } }) => {
    if (!resumeData) return suspend({ question: `Delete ${path}?` })
    if (resumeData.approved !== true) return { said: 'no' }
    console.log(`deleted ${path}`) // here the file would go
    return { deleted: path }
  },
})

// scripted calls delete_file with the last word of the user's message, then says that it is done.
const scripted = {
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  async doStream({ prompt }) {
    const { role, content } = prompt.at(-1)
    const path = role === 'user' && content.at(-1).text.split(' ').at(-1)
    const said = path
      ? [{ type: 'tool-call', toolCallId: `call-${randomUUID()}`, toolName: 'delete_file', input: JSON.stringify({ path }) }]
      : [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'That is all.' }, { type: 'text-end', id: 't' }]
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    const end = { type: 'finish', finishReason: path ? 'tool-calls' : 'stop', usage }
    return { stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...said, end]) }
  },
}

const model = scripted // a real model goes here, such as 'openai/gpt-5'
const asking = new Agent({ id: 'agent', name: 'agent', instructions: 'You delete files.', model, tools: { delete_file: deleteFile } })
const mastra = new Mastra({ agents: { agent: asking }, storage: new InMemoryStore({ id: 'memory' }), logger: false })

createServer(async (request, response) => {
  const input = await json(request)
  const encoder = new EventEncoder({ accept: 'text/event-stream' })
  const agent = new MastraAgent({ agent: mastra.getAgent('agent'), agentId: 'agent', resourceId: 'everyone' })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  agent.run(input).subscribe({
    next: (event) => response.write(encoder.encodeSSE(event)),
    error: (error) => response.end(encoder.encodeSSE({ type: 'RUN_ERROR', message: String(error) })),
    complete: () => response.end(),
  })
}).listen(Number(process.env.AGENT_PORT), '127.0.0.1')
