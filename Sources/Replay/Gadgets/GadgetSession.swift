import Bluetooth
import Emulator

/// One connection with a peripheral: sorts its PDUs into what the table is and what was said.
final class GadgetSession {
    private struct Pending {
        var request: PendingRequest
        var at: Duration?
        /// Place of its exchange in the conversation; `nil`: it is none of the conversation.
        var exchange: Int?
        var handles: [UInt16] = []
    }

    /// A value on its way in pieces.
    private struct Reading {
        var handle: UInt16
        var bytes: [UInt8]
        var exchange: Int
    }

    private struct Part {
        var handle: UInt16
        var offset: Int
        var bytes: [UInt8]
    }

    private let draft: GadgetDraft
    private let number: Int
    private let startedAt: Duration?
    /// By bearer: each has requests of its own.
    private var pending: [UInt16: Pending] = [:]
    private var reading: Reading?
    private var prepared: [Part] = []
    private static let mostPrepared = 4096
    private var mtu = ATTPDU.defaultMTU
    private var clientMTU = ATTPDU.defaultMTU
    /// The exchange that values of its own accord belong to, and when it began.
    private var anchor: (exchange: Int, at: Duration?)?

    init(_ draft: GadgetDraft, startedAt: Duration?) {
        self.draft = draft
        self.startedAt = startedAt
        number = draft.beginConversation()
    }

    // MARK: from the host

    func ask(_ pdu: RawSpan, _ observation: ATTObservation) {
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return }
        if opcode == .exchangeMTURequest { clientMTU = Int(pdu.little16(at: 1) ?? 23) }
        switch opcode {
        case .writeCommand, .signedWriteCommand:
            guard let handle = pdu.little16(at: 1) else { return }
            // A signature is not repeated: nobody could check it.
            let end = opcode == .signedWriteCommand ? max(3, pdu.byteCount - 12) : pdu.byteCount
            let exchange = add(.command, handle, pdu.extracting(3..<end).bytes())
            anchor = (exchange, observation.time)
            draft.wrote(handle, pdu.extracting(3..<end).bytes(), withResponse: false)
            return
        default: break
        }
        guard let request = PendingRequest(pdu) else { return }
        if let reading, request != .readBlob(handle: reading.handle, offset: reading.bytes.count) { finishReading() }
        var waiting = Pending(request: request, at: observation.time)
        switch request {
        case .read(let handle): waiting.exchange = add(.read, handle, nil)
        case .readBlob: waiting.exchange = reading?.exchange
        case .write(let handle):
            let value = pdu.bytes(from: 3)
            waiting.exchange = add(.write, handle, value)
            anchor = (waiting.exchange ?? 0, observation.time)
            draft.wrote(handle, value, withResponse: true)
        case .prepareWrite(let handle, let offset):
            if prepared.count < Self.mostPrepared {
                prepared.append(Part(handle: handle, offset: offset, bytes: pdu.bytes(from: 5)))
            }
        case .other(let opcode) where opcode == ATTOpcode.executeWriteRequest.rawValue:
            waiting.exchange = execute(isWanted: pdu.byteCount > 1 && pdu.byte(1) == 1, observation)
        case .other(let opcode) where opcode == ATTOpcode.readMultipleVariableRequest.rawValue:
            var at = 1
            while let handle = pdu.little16(at: at) {
                waiting.handles.append(handle)
                at += 2
            }
        case .other(let opcode) where opcode == ATTOpcode.readMultipleRequest.rawValue: draft.multipleReads += 1
        default: break
        }
        pending[observation.bearer] = waiting
    }

    /// The parts of one value as one write; further values are written by exchanges of their own.
    private func execute(isWanted: Bool, _ observation: ATTObservation) -> Int? {
        defer { prepared = [] }
        guard isWanted else { return nil }
        var values: [(handle: UInt16, bytes: [UInt8])] = []
        for part in prepared {
            if values.last?.handle != part.handle || part.offset == 0 && !part.bytes.isEmpty {
                values.append((part.handle, []))
            }
            let last = values.count - 1
            guard part.offset <= values[last].bytes.count, part.offset + part.bytes.count <= ATTPDU.maximumValueLength
            else { continue }
            values[last].bytes =
                Array(values[last].bytes.prefix(part.offset)) + part.bytes
                + values[last].bytes.dropFirst(part.offset + part.bytes.count)
        }
        var exchange: Int?
        for value in values {
            exchange = add(.write, value.handle, value.bytes)
            draft.wrote(value.handle, value.bytes, withResponse: true)
        }
        if let exchange { anchor = (exchange, observation.time) }
        return exchange
    }

    /// The peripheral asks for the MTU itself: its request holds its own, the host's answer the host's (Core 5.4, Vol 3
    /// Part F, 3.4.2).
    func exchangeMTU(_ pdu: RawSpan) {
        guard let said = pdu.little16(at: 1).map(Int.init) else { return }
        if pdu.first == ATTOpcode.exchangeMTURequest.rawValue {
            draft.mtu = max(ATTPDU.defaultMTU, min(ATTPDU.maximumMTU, said))
        } else {
            mtu = max(ATTPDU.defaultMTU, min(draft.mtu ?? ATTPDU.defaultMTU, said))
        }
    }

    // MARK: from the peripheral

    func answer(_ pdu: RawSpan, _ observation: ATTObservation) {
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return }
        draft.answers += 1
        switch opcode {
        case .notification, .indication:
            guard let handle = pdu.little16(at: 1) else { return }
            return came(handle, pdu.bytes(from: 3), isIndication: opcode == .indication, observation)
        case .multipleNotification:
            var at = 1
            while let handle = pdu.little16(at: at), let length = pdu.little16(at: at + 2) {
                let end = min(pdu.byteCount, at + 4 + Int(length))
                came(handle, pdu.extracting((at + 4)..<end).bytes(), isIndication: false, observation)
                at = end
            }
            return
        case .exchangeMTUResponse:
            guard let server = pdu.little16(at: 1) else { break }
            draft.mtu = max(ATTPDU.defaultMTU, min(ATTPDU.maximumMTU, Int(server)))
            mtu = max(ATTPDU.defaultMTU, min(clientMTU, Int(server)))
        default: break
        }
        guard let waiting = pending[observation.bearer], waiting.request.isAnswered(by: opcode) else { return }
        if opcode == .errorResponse, pdu.byteCount > 1, pdu.byte(1) != waiting.request.opcode { return }
        pending[observation.bearer] = nil
        let delay = Self.milliseconds(from: waiting.at, to: observation.time)
        guard opcode != .errorResponse else {
            return refused(waiting, code: pdu.byteCount > 4 ? pdu.byte(4) : 0x0E, delay)
        }
        switch waiting.request {
        case .read(let handle):
            guard let exchange = waiting.exchange else { return }
            respond(exchange, Gadget.Response(value: [], afterMs: delay))
            reading = Reading(handle: handle, bytes: pdu.bytes(from: 1), exchange: exchange)
            if pdu.byteCount < mtu { finishReading() }
        case .readBlob(let handle, let offset):
            guard reading?.handle == handle, reading?.bytes.count == offset else { return }
            reading?.bytes += pdu.bytes(from: 1)
            if pdu.byteCount < mtu || offset > ATTPDU.maximumValueLength { finishReading() }
        case .readByType(let type): byType(pdu, type, waiting, delay, observation)
        case .write, .other:
            if opcode == .readMultipleVariableResponse { return variable(pdu, waiting.handles, delay) }
            if let exchange = waiting.exchange { respond(exchange, Gadget.Response(afterMs: delay)) }
        case .findInformation, .findByTypeValue, .readByGroupType:
            draft.learn(pdu, waiting.request, isSynthetic: observation.isSynthetic)
        case .prepareWrite: break
        }
    }

    /// Declarations tell the table; other values are read, many hosts read a name so.
    private func byType(
        _ pdu: RawSpan, _ type: BluetoothUUID, _ waiting: Pending, _ delay: Int, _ observation: ATTObservation
    ) {
        if let short = type.short, (0x2800...0x2803).contains(short) {
            return draft.learn(pdu, waiting.request, isSynthetic: observation.isSynthetic)
        }
        guard pdu.byteCount >= 4 else { return }
        let size = Int(pdu.byte(1))
        guard size >= 2 else { return }
        var at = 2
        while at + size <= pdu.byteCount, let handle = pdu.little16(at: at) {
            let value = pdu.extracting((at + 2)..<(at + size)).bytes()
            draft.met(type, at: handle)
            let exchange = add(.read, handle, nil)
            respond(exchange, Gadget.Response(value: [], afterMs: delay))
            reading = Reading(handle: handle, bytes: value, exchange: exchange)
            // A value that fills the answer may go on: Read Blob follows then.
            if at + size < pdu.byteCount || value.count < min(mtu - 4, 253) { finishReading() }
            at += size
        }
    }

    /// `21 ( length(2) value )*`
    private func variable(_ pdu: RawSpan, _ handles: [UInt16], _ delay: Int) {
        var at = 1
        for handle in handles {
            guard let length = pdu.little16(at: at), at + 2 + Int(length) <= pdu.byteCount else { return }
            let exchange = add(.read, handle, nil)
            respond(exchange, Gadget.Response(value: [], afterMs: delay))
            reading = Reading(
                handle: handle, bytes: pdu.extracting((at + 2)..<(at + 2 + Int(length))).bytes(), exchange: exchange)
            finishReading()
            at += 2 + Int(length)
        }
    }

    private func refused(_ waiting: Pending, code: UInt8, _ delay: Int) {
        // The value was as long as what is there of it: its last part says so.
        if case .readBlob = waiting.request { return finishReading() }
        guard let exchange = waiting.exchange else { return }
        respond(exchange, Gadget.Response(error: max(1, code), afterMs: delay))
    }

    private func finishReading() {
        guard let reading else { return }
        self.reading = nil
        let value = Array(reading.bytes.prefix(ATTPDU.maximumValueLength))
        draft.change(number, reading.exchange) { $0.response?.value = Octets(value) }
        draft.read(reading.handle, value)
    }

    /// A value of its own accord: it belongs to the last write or command, or else to the connection.
    private func came(_ handle: UInt16, _ value: [UInt8], isIndication: Bool, _ observation: ATTObservation) {
        let place: (exchange: Int, at: Duration?)
        if let anchor {
            place = anchor
        } else {
            place = (add(.connect, nil, nil), startedAt)
            anchor = place
        }
        draft.sent(handle, isIndication: isIndication)
        let value = Gadget.Value(
            handle: handle, value: Octets(Array(value.prefix(ATTPDU.maximumValueLength))),
            afterMs: Self.milliseconds(from: place.at, to: observation.time))
        draft.change(number, place.exchange) {
            if $0.values == nil { $0.values = [] }
            $0.values?.append(value)
        }
    }

    // MARK: the conversation

    private func add(_ request: Gadget.Request, _ handle: UInt16?, _ value: [UInt8]?) -> Int {
        if let handle { draft.touched(handle) }
        return draft.add(
            Gadget.Exchange(
                request, handle: handle, value: value.map { Octets(Array($0.prefix(ATTPDU.maximumValueLength))) }),
            number)
    }

    private func respond(_ exchange: Int, _ response: Gadget.Response) {
        draft.change(number, exchange) { $0.response = response }
    }

    /// The connection is over: what was under way stays as far as it came.
    func finish() {
        finishReading()
        pending = [:]
    }

    /// To the nearest millisecond; 0 where the capture has no times, or runs backwards.
    private static func milliseconds(from start: Duration?, to end: Duration?) -> Int {
        guard let start, let end, end > start else { return 0 }
        let (seconds, attoseconds) = (end - start).components
        guard seconds < Int64(Gadget.longestDelayMs / 1000) else { return Gadget.longestDelayMs }
        return Int(seconds) * 1000 + Int((attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000)
    }
}
