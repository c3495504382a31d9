import Bluetooth
import BottleProtocol
import Captures
import Replay

/// A conversation as a list of PDUs, passed to a reader as the reassembly does.
struct Conversation {
    private(set) var events: [(ConversationEvent, [UInt8])] = []
    private var connection: ObservedConnection
    private var frame = 0
    private var connections = 0
    /// The start of the capture in seconds since 1970: 2026-02-02T02:40:00Z.
    var start = 1_770_000_000

    static let bottle = BluetoothAddress(0xA4C1_3801_0203)

    init(peer: BluetoothAddress? = bottle, handle: UInt32 = 0x40, adapter: UInt32 = 0) {
        connection = ObservedConnection(id: 0, adapter: adapter, handle: handle, peer: peer)
        connect(peer, handle: handle, adapter: adapter)
    }

    /// Adds a connection; later PDUs belong to it.
    mutating func connect(_ peer: BluetoothAddress?, handle: UInt32 = 0x40, adapter: UInt32 = 0) {
        connections += 1
        frame += 1
        connection = ObservedConnection(id: connections, adapter: adapter, handle: handle, peer: peer)
        events.append((.connected(connection), []))
    }

    mutating func disconnect() {
        frame += 1
        events.append((.disconnected(connection, reason: 0x13), []))
    }

    /// Later PDUs belong to an earlier connection again.
    mutating func resume(_ id: Int) {
        for case (.connected(let known), _) in events where known.id == id { connection = known }
    }

    mutating func sent(_ pdu: [UInt8]) { add(pdu, .sent) }
    mutating func received(_ pdu: [UInt8]) { add(pdu, .received) }

    mutating func add(_ pdu: [UInt8], _ direction: TrafficDirection?) {
        frame += 1
        let observation = ATTObservation(
            frame: frame, time: .seconds(start + frame), connection: connection, direction: direction)
        events.append((.att(observation), pdu))
    }

    /// A conversation that starts with the discovery of the retail bottle.
    static func retail() -> Conversation {
        var talk = Conversation()
        talk.discoverRetail()
        return talk
    }

    /// Discovery of the retail bottle: command at 3, response at 6.
    mutating func discoverRetail(command: UInt16 = 3, response: UInt16 = 6) {
        discover(
            characteristic(command - 1, 0x04, command, 0xFFE9), characteristic(response - 1, 0x10, response, 0xFFE4))
        sent([0x08] + little(response) + [0xFF, 0xFF, 0x03, 0x28])
        received([0x01, 0x08] + little(response) + [0x0A])
    }

    /// One request for characteristics, and its response.
    mutating func discover(_ characteristics: [UInt8]...) {
        sent([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28])
        received([0x09, 0x07] + characteristics.joined())
    }

    /// A read of the value, with Read Blob for each part after the first.
    mutating func read(_ handle: UInt16, _ parts: [UInt8]...) {
        var offset = 0
        for part in parts {
            sent(offset == 0 ? [0x0A] + little(handle) : [0x0C] + little(handle) + little(UInt16(offset)))
            received([offset == 0 ? 0x0B : 0x0D] + part)
            offset += part.count
        }
    }

    /// Discovery of an unknown service.
    mutating func discoverNothing() {
        sent([0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28])
        received([0x11, 0x06, 0x01, 0x00, 0x05, 0x00, 0x0A, 0x18])
    }

    mutating func write(_ value: [UInt8], to handle: UInt16 = 3) { sent([0x52] + little(handle) + value) }
    mutating func notify(_ value: [UInt8], from handle: UInt16 = 6) { received([0x1B] + little(handle) + value) }

    /// The log as the bottle sends it: entries of at most `size` records, one notification each.
    mutating func notifyLog(_ records: [[UInt8]], from handle: UInt16 = 6, entry size: Int = 8) {
        for value in Self.log(records, entry: size) { notify(value, from: handle) }
    }

    static func log(_ records: [[UInt8]], entry size: Int = 8) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        var rest = records[...]
        while !rest.isEmpty {
            let part = rest.prefix(size)
            entries.append([UInt8(1 + 13 * part.count), 0x06] + part.flatMap { $0 })
            rest = rest.dropFirst(size)
        }
        let length = entries.reduce(0) { $0 + $1.count }
        if entries.isEmpty { return [[0x50, 0x54, 0, 0]] }
        entries[0] = [0x50, 0x54, UInt8(length >> 8), UInt8(length & 0xFF)] + entries[0]
        return entries
    }

    func characteristic(_ declaration: UInt16, _ properties: UInt8, _ value: UInt16, _ uuid: UInt16) -> [UInt8] {
        little(declaration) + [properties] + little(value) + little(uuid)
    }

    func little(_ value: UInt16) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

    // MARK: reading it

    struct Found: Equatable {
        var bottle: String?
        var at: String?
        var amount: Int
        var frame: Int
        var isDuplicate: Bool
    }

    func drinks(
        raw: Bool = false, dialect: RecordDialect = .calendar, handles: HandleOptions = HandleOptions()
    ) throws -> (drinks: [Found], reader: DrinkReader) {
        var options = DrinkReader.Options(hostYear: 2026)
        options.isRaw = raw
        options.dialect = dialect
        options.handles = handles
        var found: [Found] = []
        let reader = DrinkReader(options) { delivery in
            found.append(
                Found(
                    bottle: delivery.bottle.address?.description, at: delivery.at, amount: delivery.record.amountMl,
                    frame: delivery.frame, isDuplicate: delivery.isDuplicate))
        }
        try read(reader)
        return (found, reader)
    }

    /// Passes the events to a reader, and ends the capture.
    func read(_ reader: DrinkReader) throws {
        for (event, bytes) in events { try reader.receive(event, bytes.span.bytes) }
        try reader.finishCapture()
    }

    func commands(handles: HandleOptions = HandleOptions()) throws -> [ObservedCommand] {
        var options = DrinkReader.Options(hostYear: 2026)
        options.handles = handles
        var found: [ObservedCommand] = []
        let reader = DrinkReader(options)
        reader.onCommand = { found.append($0) }
        try read(reader)
        return found
    }
}

/// A drink record of 2026-02-02 at that minute of the day.
func record(_ minute: Int, _ amount: Int, second: Int = 0, flag: UInt8 = 0, year: UInt8 = 0x1A, day: UInt8 = 2)
    -> [UInt8]
{
    [
        year, 2, day, UInt8(minute / 60), UInt8(minute % 60), UInt8(second), UInt8(amount >> 8), UInt8(amount & 0xFF),
        0, 0, 1, 0x61, flag,
    ]
}

/// Reads the bytes of a capture as events. An error in the bytes is returned after everything before it.
@discardableResult
func forEachEvent(of file: [UInt8], _ body: (ConversationEvent, RawSpan) throws -> Void) throws -> CaptureError? {
    var capture = CaptureReader(), reassembler = ConversationReassembler(), failure: CaptureError?
    do {
        _ = try capture.read(file.span.bytes, isLast: true) { packet, bytes in
            try reassembler.receive(packet, bytes, body)
        }
    } catch let error as CaptureError {
        failure = error
    }
    try reassembler.finish(body)
    return failure
}
