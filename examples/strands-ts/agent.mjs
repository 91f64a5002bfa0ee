// A Strands agent in TypeScript that asks before it deletes a file, as an AG-UI endpoint.
import { StrandsAgent } from '@ag-ui/aws-strands'
import { addStrandsExpressEndpoint } from '@ag-ui/aws-strands/server'
import { Agent, BeforeToolCallEvent, Model, tool } from '@strands-agents/sdk'
import express from 'express'
import { randomUUID } from 'node:crypto'
import { z } from 'zod'

const deleteFile = tool({
  name: 'delete_file',
  description: 'Delete a file.',
  inputSchema: z.object({ path: z.string() }),
  callback: ({ path }) => {
    console.log(`deleted ${path}`) // here the file would go
    return { deleted: path }
  },
})

// asking runs the tool only for the word that Holdpoint makes of a yes.
const asking = {
  name: 'asking',
  initAgent: (agent) =>
    void agent.addHook(BeforeToolCallEvent, (event) => {
      const answer = event.interrupt({ name: 'approval', reason: `Delete ${event.toolUse.input.path}?` })
      if (answer !== 'y') event.cancel = 'The person said no.'
    }),
}

// Scripted calls delete_file with the last word of the user's message, then says that it is done.
class Scripted extends Model {
  updateConfig() {}

  getConfig() {
    return { modelId: 'scripted' }
  }

  async *stream(messages) {
    const said = messages.at(-1).content.find((block) => block.type === 'textBlock')?.text
    const call = { type: 'toolUseStart', name: 'delete_file', toolUseId: `tooluse_${randomUUID()}` }
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent', ...(said && { start: call }) }
    const delta = said
      ? { type: 'toolUseInputDelta', input: JSON.stringify({ path: said.split(' ').at(-1) }) }
      : { type: 'textDelta', text: 'That is all.' }
    yield { type: 'modelContentBlockDeltaEvent', delta }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: said ? 'toolUse' : 'endTurn' }
  }
}

const model = new Scripted() // a real model goes here, such as new BedrockModel()
const agent = new Agent({ model, tools: [deleteFile], printer: false })
const app = express()
app.use(express.json())
addStrandsExpressEndpoint(app, new StrandsAgent({ agent, name: 'agent', plugins: [asking] }), { path: '/' })
app.listen(Number(process.env.AGENT_PORT), '127.0.0.1')
