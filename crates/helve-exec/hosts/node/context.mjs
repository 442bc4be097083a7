// What a tool gets as `ctx`.

import util from 'node:util'
import { cut, encode, quote, say, send } from './wire.mjs'
import { CallFault } from './fault.mjs'

const { format } = util
const { apply } = Reflect
const { isArray } = Array
const { isFinite } = Number
const { create, hasOwn } = Object
const Later = Promise
const Trap = Proxy
// By the id of what was asked. No `Map`: a tool may have changed what one does.
const waiting = create(null)
let asked = 0

/** One call while it runs. `open` is false once its result is sent. */
export class Call {
  open = true
  writes = null

  constructor(id, info, file) {
    this.id = id
    this.info = info ?? {}
    this.file = file
  }

  log(level, parts) {
    const text = cut(apply(format, null, parts))
    if (this.open) send(`{"op":"log","level":"${level}","text":${quote(text)}}`)
    else say(`after its call: ${text}`)
  }

  progress(done, total, message) {
    if (!this.open) return
    const number = (n) => (isFinite(n) ? `${n}` : 'null')
    const text = message === undefined || message === null ? 'null' : quote(cut(message))
    send(`{"op":"progress","done":${number(done)},"total":${number(total)},"message":${text}}`)
  }

  /** Calls another tool; `target` is the part of the message that names it. */
  ask(target, shown, args) {
    return new Later((resolve, reject) => {
      if (!this.open) throw new CallFault(`\`${shown}\` was called after the result was given`, 'internal')
      if (typeof args !== 'object' || args === null || isArray(args)) {
        throw new CallFault(`\`${shown}\` takes one object with its arguments`, 'validation')
      }
      const id = ++asked
      const size = send(`{"op":"ask","id":${id},${target},"args":${encode(args)}}`)
      if (size) throw new CallFault(`the arguments for \`${shown}\` are too long: ${size} bytes`, 'validation')
      waiting[id] = { resolve, reject, call: this }
    })
  }

  set(key, value) {
    encode(value)
    this.writes ??= create(null)
    this.writes[key] = value
  }

  close() {
    this.open = false
    for (const id in waiting) if (waiting[id].call === this) delete waiting[id]
  }
}

/** Helve's answer to something that was asked. */
export function answer({ id, ok, value, error }) {
  const asker = waiting[id]
  if (!asker) return
  delete waiting[id]
  if (ok) asker.resolve(value)
  else asker.reject(new CallFault(error?.message ?? 'the call failed', error?.type ?? 'internal', error?.hint))
}

/** The object that a handler gets. */
export function contextOf(call) {
  const { info } = call
  const log = (level) => (...parts) => call.log(level, parts)
  const own = {
    runId: info.run_id ?? null,
    agentId: info.agent_id ?? null,
    principal: info.principal ?? null,
    tool: info.tool ?? null,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    service: serviceOf(call, 'ctx.service', null, null),
    call: (tool, args = {}) => call.ask(`"tool":${quote(tool)}`, tool, args),
    progress: (done, total, message) => call.progress(done, total, message),
    get: (key) => {
      if (call.writes && key in call.writes) return call.writes[key]
      return info.keys && hasOwn(info.keys, key) ? info.keys[key] : undefined
    },
    set: (key, value) => call.set(String(key), value),
  }
  return new Trap(own, { get: known })
}

// What the language and its tools look for on any object.
const ASKED_OF_ALL = { __proto__: null, then: 1, toJSON: 1, constructor: 1, inspect: 1, nodeType: 1 }

function known(own, key) {
  if (key in own || typeof key === 'symbol' || key in ASKED_OF_ALL) return own[key]
  let there = ''
  for (const name in own) there += `${there && ', '}\`${name}\``
  throw new CallFault(`Helve has no \`ctx.${key}\`; there are ${there}`, 'dependency')
}

/** `ctx.service.file.read(args)`: any path of names, the last of which is called. */
function serviceOf(call, shown, service, action) {
  const target = (args = {}) => {
    if (!service) throw new CallFault(`\`${shown}\` is not an action; call \`ctx.service.<group>.<action>(args)\``, 'validation')
    return call.ask(`"service":${quote(service)},"action":${quote(action)}`, shown, args)
  }
  return new Trap(target, {
    get(_, key) {
      if (typeof key === 'symbol' || key in ASKED_OF_ALL) return undefined
      if (key === 'toString' || key === 'valueOf') return () => `[${shown}]`
      const before = service ? `${service}.${action}` : action
      return serviceOf(call, `${shown}.${key}`, before, key)
    },
  })
}
