import Bluetooth
import Emulator

/// Repeats the actions of a recorded host: complete discovery, then the same requests in the same order.
final class Host {
    struct Failure: Error, Equatable, CustomStringConvertible { var description: String }

    /// Sends a PDU to the peripheral.
    private let send: ([UInt8]) throws -> Void
    private let receive: () throws -> [UInt8]
    /// The received notifications and indications that `take` has not returned yet.
    private(set) var values: [ATTHandleValue] = []
    private(set) var mtu = 23

    init(send: @escaping ([UInt8]) throws -> Void, receive: @escaping () throws -> [UInt8]) {
        self.send = send
        self.receive = receive
    }

    func request(_ pdu: ATTPDU) throws -> ATTPDU {
        try send(pdu.encoded)
        while true {
            let answer = try next()
            if answer.opcode.isResponse { return answer }
        }
    }

    private func next() throws -> ATTPDU {
        let pdu = try ATTPDU(decoding: try receive())
        switch pdu {
        case .notification(let handle, let value): values.append(ATTHandleValue(handle, value))
        case .indication(let handle, let value):
            values.append(ATTHandleValue(handle, value))
            try send(ATTPDU.confirmation.encoded)
        default: break
        }
        return pdu
    }

    /// Waits for `count` notifications or indications.
    func take(_ count: Int) throws -> [ATTHandleValue] {
        while values.count < count { _ = try next() }
        defer { values.removeFirst(count) }
        return Array(values.prefix(count))
    }

    func exchangeMTU(_ own: Int = 517) throws {
        guard case .exchangeMTUResponse(let theirs) = try request(.exchangeMTURequest(mtu: UInt16(own))) else {
            throw Failure(description: "no MTU")
        }
        mtu = max(23, min(own, Int(theirs)))
    }

    /// Discovers primary and secondary services, includes, characteristics and all attribute types.
    func discover() throws {
        for type in [GATTTable.primaryService, GATTTable.secondaryService] {
            try walk { from in
                guard
                    case .readByGroupTypeResponse(let found) = try self.request(
                        .readByGroupTypeRequest(ATTHandleRange(from, .max), type: type))
                else { return nil }
                return found.last?.end
            }
        }
        for type in [GATTTable.include, GATTTable.characteristic] {
            try walk { from in
                guard
                    case .readByTypeResponse(let found) = try self.request(
                        .readByTypeRequest(ATTHandleRange(from, .max), type: type))
                else { return nil }
                return found.last?.handle
            }
        }
        try walk { from in
            guard
                case .findInformationResponse(let found) = try self.request(
                    .findInformationRequest(ATTHandleRange(from, .max)))
            else { return nil }
            return found.last?.handle
        }
    }

    private func walk(_ step: (UInt16) throws -> UInt16?) throws {
        var from: UInt16 = 1
        while let last = try step(from), last >= from {
            guard last < .max else { return }
            from = last + 1
        }
    }

    /// Reads a whole value, with Read Blob if it is long, or returns the error.
    func read(_ handle: UInt16) throws -> Result<[UInt8], Failure> {
        var value: [UInt8] = []
        switch try request(.readRequest(handle: handle)) {
        case .readResponse(let first): value = first
        case .errorResponse(_, _, let error): return .failure(Failure(description: "\(error.rawValue)"))
        case let other: throw Failure(description: "\(other)")
        }
        var last = value.count
        while last == mtu - 1, value.count < 512 {
            guard
                case .readBlobResponse(let more) = try request(
                    .readBlobRequest(handle: handle, offset: UInt16(value.count)))
            else { break }
            value += more
            last = more.count
        }
        return .success(value)
    }

    /// Sends a request, checks the response, and waits for the notifications that follow.
    func repeatExchange(_ exchange: PeripheralProfile.Exchange) throws -> [String] {
        var complaints: [String] = []
        func expect(_ found: String, _ wanted: String) {
            if found != wanted {
                complaints.append(
                    "\(exchange.request.rawValue) of \(exchange.handle ?? 0): \(found), recorded was \(wanted)")
            }
        }
        let handle = exchange.handle ?? 0
        let wanted = exchange.response?.error.map { "\($0)" } ?? exchange.response?.value?.description ?? ""
        switch exchange.request {
        case .connect: break
        case .read:
            switch try read(handle) {
            case .success(let value): expect(Octets(value).description, wanted)
            case .failure(let error): expect(error.description, wanted)
            }
        case .write:
            switch try request(.writeRequest(handle: handle, value: exchange.value?.bytes ?? [])) {
            case .writeResponse: expect("", wanted)
            case .errorResponse(_, _, let error): expect("\(error.rawValue)", wanted)
            case let other: expect("\(other)", wanted)
            }
        case .command: try send(ATTPDU.writeCommand(handle: handle, value: exchange.value?.bytes ?? []).encoded)
        }
        let values = exchange.values ?? []
        for (found, wanted) in zip(try take(values.count), values) {
            expect("\(found.handle) \(Octets(found.value))", "\(wanted.handle) \(wanted.value)")
        }
        return complaints
    }
}
