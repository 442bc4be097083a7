import os from 'node:os'

export default {
  name: 'info',
  description: 'Say what machine this is. When a plan depends on its system, memory or number of processors.',
  inputSchema: { type: 'object', properties: {} },
  risk: 'read',
  metadata: { type: 'internal', source: 'info.mjs' },
  handler: () => ({
    platform: os.platform(),
    release: os.release(),
    processors: os.cpus().length,
    memory: os.totalmem(),
    node: process.version,
  }),
}
