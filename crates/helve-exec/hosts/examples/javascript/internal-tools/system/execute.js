const { execFile } = require('node:child_process')
const { promisify } = require('node:util')
const { text } = require('../index.js')

// Whole commands, not beginnings: nothing that is given ever reaches a shell.
const ALLOWED = {
  date: ['date', '-u'],
  pwd: ['pwd'],
  uname: ['uname', '-sr'],
  'node --version': [process.execPath, '--version'],
}

module.exports = {
  name: 'execute',
  description: 'Run one of a few system commands. When you need the time, the folder or the versions of what is installed.',
  inputSchema: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: Object.keys(ALLOWED), description: 'The command' },
      timeout: { type: 'integer', default: 5000, minimum: 1, description: 'How long it may take, in milliseconds' },
    },
    required: ['command'],
  },
  risk: 'exec_low',
  metadata: { type: 'internal', source: 'execute.js' },
  handler: async ({ command, timeout = 5000 }) => {
    if (!Object.hasOwn(ALLOWED, command)) {
      const hint = `one of ${Object.keys(ALLOWED).join(', ')}`
      throw Object.assign(new Error(`\`${command}\` is not allowed`), { type: 'permission', hint })
    }
    const [program, ...args] = ALLOWED[command]
    const { stdout, stderr } = await promisify(execFile)(program, args, { timeout })
    return text({ command, stdout, stderr })
  },
}
