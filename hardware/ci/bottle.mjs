// Test with a bottle, in JavaScript: adds a drink of 250 ml and reads it over ATT. Needs no Bluetooth and no module.
// usage: node bottle.mjs [waterh-emulator]      exit code 0: the drink arrived, and the bottle deleted it after the acknowledgement
// Node has no SEQPACKET sockets: the link is stream:PATH, with each ATT PDU in an L2CAP basic frame (length, channel 4).
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { createInterface } from "node:readline"

const folder = mkdtempSync(`${tmpdir()}/bottle-`)
const options = ["run", "--profile", "retail", "--link", `stream:${folder}/link`, "--control", `unix:${folder}/control`]
const bottle = spawn(process.argv[2] ?? "waterh-emulator", options, { stdio: ["ignore", "pipe", "inherit"] })
process.on("exit", () => bottle.kill()) // Also after a failed assertion.
const lines = input => { const each = createInterface({ input })[Symbol.asyncIterator](); return async () => (await each.next()).value }
assert.match(await lines(bottle.stdout)(), /^ready /)

const control = connect(`${folder}/control`) // One JSON object per line in each direction.
const nextReply = lines(control)
const sendControl = async request => { control.write(JSON.stringify(request) + "\n"); return JSON.parse(await nextReply()) }
assert.equal((await sendControl({ do: "sip", value: 250 })).ok, true)

const att = connect(`${folder}/link`)
const arrived = { responses: [], values: [] }, waiting = { responses: [], values: [] }
let bytes = Buffer.alloc(0)
att.on("data", more => {
    bytes = Buffer.concat([bytes, more])
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt16LE(0)) {
        const pdu = bytes.subarray(4, 4 + bytes.readUInt16LE(0)), kind = pdu[0] === 0x1b ? "values" : "responses"
        bytes = bytes.subarray(4 + pdu.length)
        waiting[kind].length ? waiting[kind].shift()(pdu) : arrived[kind].push(pdu)
    }
})
const next = kind => arrived[kind].length ? arrived[kind].shift() : new Promise(found => waiting[kind].push(found))
const le = number => [number & 0xff, number >> 8]
const send = (...pdu) => att.write(Buffer.from([...le(pdu.length), ...le(4), ...pdu]))
const request = (...pdu) => (send(...pdu), next("responses"))

await request(0x02, ...le(517)) // Exchange MTU
const handles = {}
for (let first = 1, page; (page = await request(0x08, ...le(first), ...le(0xffff), ...le(0x2803)))[0] === 0x09;) { // Read By Type: characteristics
    for (let at = 2; at < page.length; at += page[1]) {
        handles[page.subarray(at + 5, at + page[1]).reverse().toString("hex")] = page.readUInt16LE(at + 3)
        first = page.readUInt16LE(at) + 1
    }
}
await request(0x12, ...le(handles.ffe4 + 1), 1, 0) // Subscribe: the descriptor after the value
send(0x52, ...le(handles.ffe9), 0x47, 0x54, 0x00, 0x01, 0x06) // Requests the log.
let frame = Buffer.alloc(0)
while (frame.length < 4 || frame.length < 4 + frame.readUInt16BE(2)) {
    const value = (await next("values")).subarray(3)
    if (frame.length || value.toString("latin1", 0, 2) === "PT") frame = Buffer.concat([frame, value])
}
assert.equal(frame.readUInt16BE(6 + 6), 250)
send(0x52, ...le(handles.ffe9), 0x52, 0x50, 0x00, 0x04, 0x03, 0x06, 0x00, 0x0d) // Acknowledges 13 bytes.
await request(0x0a, ...le(3)) // Write Commands have no response. The response to this later request shows that they arrived.
assert.equal((await sendControl({ do: "status" })).status.acknowledged, 1)
console.log("250 ml received")
bottle.on("exit", code => process.exit(code ?? 1)).kill("SIGTERM")
