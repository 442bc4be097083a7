const fs = require('node:fs/promises')
const path = require('node:path')
const { inside, shown, text } = require('../index.js')

module.exports = {
  name: 'move',
  description: 'Move or rename a file or folder of the project. When something belongs elsewhere; nothing is overwritten.',
  inputSchema: {
    type: 'object',
    properties: {
      source: { type: 'string', description: 'Where it is' },
      destination: { type: 'string', description: 'Where it shall be' },
    },
    required: ['source', 'destination'],
  },
  risk: 'write',
  metadata: { type: 'internal', source: 'move.js' },
  handler: async (args) => {
    const source = inside(args.source)
    const destination = inside(args.destination)
    const there = await fs.lstat(destination).catch(() => null)
    if (there) throw new Error(`\`${args.destination}\` is there already`)
    await fs.mkdir(path.dirname(destination), { recursive: true })
    await fs.rename(source, destination)
    return text(`moved ${shown(source)} to ${shown(destination)}`)
  },
}
