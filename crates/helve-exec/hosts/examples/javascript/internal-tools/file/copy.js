const fs = require('node:fs/promises')
const path = require('node:path')
const { inside, shown, text } = require('../index.js')

module.exports = {
  name: 'copy',
  description: 'Copy a file, or a folder with all that it holds, within the project. When you need a second one to change.',
  inputSchema: {
    type: 'object',
    properties: {
      source: { type: 'string', description: 'What to copy' },
      destination: { type: 'string', description: 'Where the copy shall be' },
    },
    required: ['source', 'destination'],
  },
  risk: 'write',
  metadata: { type: 'internal', source: 'copy.js' },
  handler: async (args) => {
    const source = inside(args.source)
    const destination = inside(args.destination)
    await fs.mkdir(path.dirname(destination), { recursive: true })
    await fs.cp(source, destination, { recursive: true, errorOnExist: true, force: false })
    return text(`copied ${shown(source)} to ${shown(destination)}`)
  },
}
