// Loads tools written in JavaScript and runs them for Helve, one call at a time.
//
// A tool lives in this process and may do what it likes to it. What it must not
// do is answer for another call: whatever comes late, from a timer or a promise
// that nobody waits for, is known by the call it began in.

import { AsyncLocalStorage } from 'node:async_hooks'
import { answer, Call, contextOf } from './context.mjs'
import { CallFault, faultJson } from './fault.mjs'
import { load } from './load.mjs'
import { checkLine, cut, encode, end, listen, MAX_MESSAGE, NotJson, quote, say, send, tooLong } from './wire.mjs'

const began = new AsyncLocalStorage()
const run = began.run.bind(began)
const origin = began.getStore.bind(began)
const chdir = process.chdir.bind(process)
const Later = Promise

// ----- calls ----------------------------------------------------------------

async function take({ id, file, tool, args, cwd, ctx }) {
  const call = new Call(id, ctx, file)
  try {
    succeed(call, await run(call, () => attempt(call, tool, args, cwd)))
  } catch (thrown) {
    fail(call, thrown)
  }
}

/** Ends with the handler, or before it if the tool breaks down elsewhere. */
function attempt(call, tool, args, cwd) {
  return new Later(async (resolve, reject) => {
    call.fail = reject
    try {
      resolve(await perform(call, tool, args, cwd))
    } catch (thrown) {
      reject(thrown)
    }
  })
}

async function perform(call, name, args, cwd) {
  const { tools, error } = await load(call.file)
  if (error) throw error.cause
  const found = tools[name]
  if (!found) throw new CallFault(`the file has no tool named \`${name}\``, 'not_found')
  if (cwd) chdir(cwd)
  // Awaited here: to return a promise would ask for its `then`, which may be changed.
  const value = await found.tool.handler(args, contextOf(call))
  return value
}

function succeed(call, value) {
  let json
  try {
    const writes = call.writes ? `,"writes":${encode(call.writes)}` : ''
    json = `{"op":"result","id":${call.id},"ok":true,"value":${encode(value)}${writes}}`
  } catch (error) {
    return fail(call, error instanceof NotJson ? new CallFault(error.message, 'internal') : error)
  }
  finish(call, json)
}

function fail(call, thrown) {
  finish(call, `{"op":"result","id":${call.id},"ok":false,"error":${faultJson(thrown, call.file)}}`)
}

function finish(call, json) {
  if (!call.open) return
  checkLine()
  call.close()
  const size = send(json)
  if (size) {
    const fault = faultJson(new CallFault(tooLong(size), 'internal'), null)
    send(`{"op":"result","id":${call.id},"ok":false,"error":${fault}}`)
  }
}

// ----- what tools have ------------------------------------------------------

async function describe(files) {
  let out = ''
  for (let i = 0; i < files.length; i++) {
    const { tools, error } = await load(files[i])
    let list = ''
    for (const name in tools) list += (list ? ',' : '') + tools[name].described
    let text = fileJson(files[i], list, error)
    if (out.length + text.length > MAX_MESSAGE / 4) {
      text = fileJson(files[i], '', { message: 'the descriptions of the tools are too long together' })
    }
    out += (out ? ',' : '') + text
  }
  checkLine()
  send(`{"op":"described","files":[${out}]}`)
}

function fileJson(file, tools, error) {
  const shown = error
    ? `{"message":${quote(cut(error.message))},"line":${error.line ?? null},"column":${error.column ?? null}}`
    : 'null'
  return `{"file":${quote(file)},"tools":[${tools}],"error":${shown}}`
}

// ----- what would end the process -------------------------------------------

process.exit = (code) => {
  const shown = code === undefined ? '' : String(code)
  const fault = new CallFault(`the tool called \`process.exit(${shown})\``, 'internal')
  const call = origin()
  if (call?.open) call.fail?.(fault)
  throw fault
}

// A process of its own would have died of it, so the call has failed, unless it
// is over already.
function stray(what, thrown) {
  const call = origin()
  if (call?.open && call.fail) return call.fail(thrown)
  say(`${what}: ${faultJson(thrown, null)}`)
}

process.on('uncaughtException', (thrown) => stray('nobody caught this', thrown))
process.on('unhandledRejection', (thrown) => stray('nobody handled this rejection', thrown))

// How a module is loaded is Helve's business, and no news to anybody.
process.removeAllListeners('warning')
process.on('warning', ({ name, message }) => {
  if (name !== 'ExperimentalWarning') say(`${name}: ${message}`)
})

// ----- messages -------------------------------------------------------------

// One thing after another; answers go to whoever waits for them.
let last = null

listen((message) => {
  if (message.op === 'answer') return answer(message)
  last = work(last, message)
})

async function work(before, message) {
  await before
  try {
    if (message.op === 'call') await take(message)
    else if (message.op === 'describe') await describe(message.files)
    else say(`there is no \`${message.op}\``)
  } catch (error) {
    end(1, `the host failed: ${error?.stack ?? error}`)
  }
}

send(`{"op":"ready","protocol":1,"runtime":"node ${process.versions.node}"}`)
