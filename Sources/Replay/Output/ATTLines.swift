package import Bluetooth

/// Writes ATT PDUs, one per line, for `waterh-replay att`.
///
/// Follows the discovery on all connections, to write the UUID for each handle.
package final class ATTLines {
    let out: LineBuffer
    let isJSON: Bool
    let conversation = ConversationReader(readsValues: false) { _, _ in }
    let timestampWriter = TimestampWriter()
    let names: [[UInt8]] = (0...255).map { Array(ATTOpcode(rawValue: $0).description.utf8) }
    private var cachedPeer: (address: BluetoothAddress?, text: [UInt8]?) = (nil, nil)

    private var selector: TrafficSelector?
    private let hasFilter: Bool

    /// The columns of each line; `nil` for the default text line.
    private let fields: [Field]?
    /// Whether lines have the parameters of error responses and of the MTU exchange, before the UUID.
    let hasParameters: Bool
    /// The pending requests, for the latency and the handle of responses; used only if `followsRequests`.
    private var matcher = RequestMatcher()
    private let followsRequests: Bool
    private let isColoured: Bool

    /// - Parameters:
    ///   - filter: selects the PDUs to write.
    ///   - columns: the columns of a line; `nil` for the default line.
    ///   - isColoured: whether terminal escapes colour each line by its kind of PDU.
    package init(
        _ out: LineBuffer, isJSON: Bool, filter: TrafficFilter = TrafficFilter(), columns: [ATTColumn]? = nil,
        isColoured: Bool = false
    ) {
        self.out = out
        self.isJSON = isJSON
        self.isColoured = isColoured
        hasParameters = columns == nil && isJSON
        fields = (columns ?? (isJSON ? Self.defaultJSON : nil)).map { Self.fields($0, isJSON: isJSON) }
        followsRequests = columns.map { $0.contains(.latency) || $0.contains(.handle) } ?? false
        hasFilter = !filter.isEmpty
        selector = filter.isEmpty ? nil : TrafficSelector(filter)
    }

    package var count: Int { written }
    package var seen: Int { seenCount }
    // Private, so that the compiler can omit the runtime's exclusivity checks, which would cost more than the addition.
    private var written = 0
    private var seenCount = 0

    /// Sets the time of the first packet, to which relative times refer.
    package func start(at time: Duration?) { selector?.start(at: time) }

    package func receive(_ event: ConversationEvent, _ pdu: RawSpan) throws {
        if case .att(let observation) = event, !observation.isSynthetic {
            seenCount += 1
            let matched = followsRequests ? matcher.match(observation, pdu).matchedRequest : nil
            if !hasFilter || selector?.selects(event, pdu) == true {
                written += 1
                if let fields {
                    put(fields, observation, pdu, sent: matched)
                } else {
                    text(observation, pdu)
                }
            }
            // A notification does not change the attribute table.
            if Self.isNotification(pdu) { return }
        } else {
            if hasFilter { _ = selector?.selects(event, pdu) }
            if followsRequests, case .disconnected(let connection, _) = event { _ = matcher.end(connection.id) }
        }
        repeated = nil
        try conversation.receive(event, pdu)
    }

    private static func isNotification(_ pdu: RawSpan) -> Bool { pdu.byteCount >= 3 && pdu.byte(0) == 0x1B }

    /// The cached part of a line between the time and the PDU, for consecutive notifications of one characteristic.
    private struct Repeated {
        var connection: Int
        var direction: TrafficDirection?
        var handle: UInt16?
        var text: [UInt8]
    }

    private var repeated: Repeated?

    /// `  12  2026-02-02T22:21:20.123Z  A4:C1:38:01:02:03  received  Handle Value Notification  FFE4  1b0900…`
    private func text(_ observation: ATTObservation, _ pdu: RawSpan) {
        let frame = observation.frame
        var limit = 100_000
        while frame < limit, limit > 1 {
            out.put(byte: UInt8(ascii: " "))
            limit /= 10
        }
        out.put(number: frame)
        out.put("  ")
        if let time = observation.time {
            timestampWriter.text(time, out)
            out.put("  ")
        }
        if let repeated, Self.isNotification(pdu), repeated.handle == pdu.little16(at: 1),
            repeated.connection == observation.connection.id,
            repeated.direction == observation.direction
        {
            out.put(bytes: repeated.text)
        } else {
            let start = out.position
            putContext(observation, pdu)
            if Self.isNotification(pdu), let text = out.bytes(since: start) {
                repeated = Repeated(
                    connection: observation.connection.id, direction: observation.direction,
                    handle: pdu.little16(at: 1), text: text)
            }
        }
        out.put(hex: pdu)
        out.endLine()
    }

    /// Puts a line's part before the PDU: `A4:C1:38:01:02:03  received  Handle Value Notification  FFE4  `.
    private func putContext(_ observation: ATTObservation, _ pdu: RawSpan) {
        if observation.connection.adapter != 0 {
            out.put("adapter ")
            out.put(number: Int(observation.connection.adapter))
            out.put("  ")
        }
        if let peer = peerText(observation) {
            out.put(bytes: peer)
        } else {
            out.put("connection ")
            out.put(number: Int(observation.connection.handle))
        }
        if isColoured { out.put(bytes: Self.colour(of: pdu.first, observation.direction)) }
        switch observation.direction {
        case .sent: out.put("  sent      ")
        case .received: out.put("  received  ")
        case nil: out.put("  -         ")
        }
        if let opcode = pdu.first {
            out.put(bytes: names[Int(opcode)])
            switch Self.errorOrMTU(pdu) {
            case .errorResponse(let request, let handle, let error):
                out.put(text: ": \(error) to \(request), handle ")
                put(handle: handle)
            case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): out.put(text: " \(mtu)")
            default: break
            }
        }
        if isColoured { out.put("\u{1B}[0m") }
        if let type = conversation.typeText(of: pdu, observation) {
            out.put("  ")
            out.put(bytes: type)
        }
        out.put("  ")
    }

    /// Adds the parameters of some PDUs to JSON: the error with its request and handle; the MTU.
    func putParameters(_ pdu: RawSpan) {
        switch Self.errorOrMTU(pdu) {
        case .errorResponse(let request, let handle, let error):
            out.put(#","error":"#)
            out.put(json: error.description)
            out.put(#","request":"#)
            out.put(json: request.description)
            out.put(text: #","handle":\#(handle)"#)
        case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): out.put(text: #","mtu":\#(mtu)"#)
        default: break
        }
    }

    func put(handle: UInt16) {
        out.put("0x")
        out.put(hex: UInt8(handle >> 8))
        out.put(hex: UInt8(handle & 0xFF))
    }

    /// Decodes the PDUs whose parameters each line has: Error Response, and the MTU exchange.
    static func errorOrMTU(_ pdu: RawSpan) -> ATTPDU? {
        pdu.first.flatMap { 1...3 ~= $0 ? try? ATTPDU(decoding: pdu.bytes()) : nil }
    }

    /// The colour of a line: red for errors, blue for PDUs of the host, green for received PDUs.
    private static func colour(of opcode: UInt8?, _ direction: TrafficDirection?) -> [UInt8] {
        opcode == 0x01 ? red : direction == .sent ? blue : green
    }

    private static let red = Array("\u{1B}[31m".utf8)
    private static let blue = Array("\u{1B}[34m".utf8)
    private static let green = Array("\u{1B}[32m".utf8)

    /// The address of the peer, if known.
    func peerText(_ observation: ATTObservation) -> [UInt8]? {
        let address = observation.connection.peer
        if cachedPeer.address != address { cachedPeer = (address, address.map { Array($0.description.utf8) }) }
        return cachedPeer.text
    }
}
