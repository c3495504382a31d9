/// What btmon's text tells of one packet, put together again as the packet's bytes.
///
/// The text has no bytes but those of values; the rest of an ATT PDU is printed field by field. The PDU's length stands
/// there, too, and decides whether it could be put together. Source: `monitor/att.c` and `monitor/packet.c` of BlueZ
/// 5.50 to 5.80.
struct MonitorText {
    /// A line below a packet's first.
    private enum Field {
        case range(UInt16, UInt16)
        case handle(UInt16)
        /// As on the air, 2 or 16 bytes.
        case uuid([UInt8])
        case value([UInt8])
        /// A number in brackets, in hexadecimal, behind a name: an error, flags, a request.
        case code(String, UInt64)
        /// A decimal number behind a name.
        case number(String, UInt64)
        case address(UInt64)
        case text(String)
    }

    private(set) var opcode: UInt8?
    private var length = 0
    private var fields: [Field] = []
    /// `LE Connection Complete`, say.
    private var event: String
    /// More lines than any PDU of ours has.
    private static let most = 600

    /// - Parameter event: what the packet's first line calls it.
    init(event: String = "") { self.event = event }

    /// Takes a line without the blanks around it.
    /// - Returns: whether it says something that is kept.
    mutating func take(_ line: Substring) -> Bool {
        guard fields.count < Self.most else { return false }
        if line.hasPrefix("ATT: ") {
            guard let code = Self.bracketed(line), let opcode = UInt8(exactly: code), let length = Self.last(line)
            else { return false }
            (self.opcode, self.length, fields) = (opcode, length, [])
            return true
        }
        if event == "LE Meta Event", line.hasPrefix("LE "), let name = line.range(of: " (0x") {
            event = String(line[..<name.start])
            return true
        }
        let known = fields.count
        takeField(line)
        return fields.count > known
    }

    private mutating func takeField(_ line: Substring) {
        guard let colon = line.range(of: ": ") else {
            // The request that an error answers stands alone.
            if let code = Self.bracketed(line) { fields.append(.code("", code)) }
            return
        }
        let (name, rest) = (line[..<colon.start], line[colon.end...])
        // Newer versions write how many bytes there are: Data[5].
        switch name.prefix(while: { $0 != "[" }) {
        case "Handle range":
            let parts = rest.split(separator: "-")
            if parts.count == 2, let first = Self.hex(parts[0]), let second = Self.hex(parts[1]) {
                fields.append(.range(UInt16(truncatingIfNeeded: first), UInt16(truncatingIfNeeded: second)))
            }
        case "Handle":
            let word = rest.prefix { $0 != " " }
            if let handle = Self.hex(word) ?? UInt64(word) {
                fields.append(.handle(UInt16(truncatingIfNeeded: handle)))
            }
        case "UUID", "Attribute type", "Attribute group type":
            if let uuid = Self.uuid(rest) { fields.append(.uuid(uuid)) }
        case "Value", "Data": if let bytes = Self.bytes(rest) { fields.append(.value(bytes)) }
        case "Peer address", "Address":
            var value = UInt64(0)
            for part in rest.prefix(17).split(separator: ":") {
                guard let byte = UInt8(part, radix: 16) else { return }
                value = value << 8 | UInt64(byte)
            }
            fields.append(.address(value))
        case "Name (complete)", "Name (short)": fields.append(.text(String(rest)))
        default:
            if let code = Self.bracketed(line) { fields.append(.code(String(name), code)) }
            if let number = Self.hex(rest) ?? UInt64(rest) { fields.append(.number(String(name), number)) }
        }
    }

    /// The PDU; `nil` where the text does not hold all of its bytes.
    var pdu: [UInt8]? {
        guard let opcode, let body = body(opcode), body.count == length else { return nil }
        return [opcode] + body
    }

    /// The event, where it is one that begins or ends a connection, or tells who advertises.
    var eventBytes: [UInt8]? {
        switch event {
        case "LE Connection Complete", "LE Enhanced Connection Complete":
            guard let handle = handles.first, let address = addresses.first, let status = code("Status"),
                let role = code("Role"), let kind = code("Peer address type")
            else { return nil }
            return [0x3E, 19, 1, status] + Self.little(handle) + [role, kind & 1] + Self.air(address) + [
                24, 0, 0, 0, 0xF4, 1, 0,
            ]
        case "Disconnect Complete":
            guard let handle = handles.first, let status = code("Status") else { return nil }
            return [0x05, 4, status] + Self.little(handle) + [code("Reason") ?? 0x13]
        case "LE Advertising Report":
            guard let address = addresses.first, let name = names.first?.utf8.prefix(29),
                let kind = code("Address type")
            else { return nil }
            return [0x3E, UInt8(14 + name.count), 2, 1, 0, kind & 1] + Self.air(address) + [
                UInt8(2 + name.count), UInt8(1 + name.count), 9,
            ] + name + [0]
        default: return nil
        }
    }

    private func body(_ opcode: UInt8) -> [UInt8]? {
        switch opcode {
        case 0x01:
            guard let request = code(""), let handle = handles.first, let error = code("Error") else { return nil }
            return [request] + Self.little(handle) + [error]
        case 0x02, 0x03:
            return (number("Client RX MTU") ?? number("Server RX MTU")).map {
                Self.little(UInt16(truncatingIfNeeded: $0))
            }
        case 0x04: return ranges
        case 0x05: return code("Format").map { [$0] + pairs }
        case 0x07, 0x13, 0x19, 0x1E: return ranges
        case 0x08, 0x10: return ranges + (uuids.first ?? [])
        case 0x06: return uuids.count == 2 ? ranges + uuids[0] + uuids[1] : nil
        case 0x09, 0x11: return (number("Attribute data length")).map { [UInt8(truncatingIfNeeded: $0)] + pairs }
        case 0x0A: return handles.first.map(Self.little)
        case 0x0C:
            guard let handle = handles.first, let offset = number("Offset") else { return nil }
            return Self.little(handle) + Self.little(UInt16(truncatingIfNeeded: offset))
        case 0x0B, 0x0D: return values.first ?? []
        case 0x12, 0x52, 0x1B, 0x1D: return handles.first.map { Self.little($0) + (values.first ?? []) }
        case 0x16, 0x17:
            guard let handle = handles.first, let offset = number("Offset") else { return nil }
            return Self.little(handle) + Self.little(UInt16(truncatingIfNeeded: offset)) + (values.first ?? [])
        case 0x18: return code("Flags").map { [$0] }
        default: return nil
        }
    }

    // MARK: fields

    private var handles: [UInt16] { fields.compactMap { if case .handle(let handle) = $0 { handle } else { nil } } }
    private var uuids: [[UInt8]] { fields.compactMap { if case .uuid(let bytes) = $0 { bytes } else { nil } } }
    private var values: [[UInt8]] { fields.compactMap { if case .value(let bytes) = $0 { bytes } else { nil } } }
    private var addresses: [UInt64] {
        fields.compactMap { if case .address(let address) = $0 { address } else { nil } }
    }
    private var names: [String] { fields.compactMap { if case .text(let name) = $0 { name } else { nil } } }
    private var ranges: [UInt8] {
        fields.flatMap { field -> [UInt8] in
            if case .range(let first, let last) = field { Self.little(first) + Self.little(last) } else { [] }
        }
    }
    /// Handles or ranges with what belongs to each, in the order in which they stand.
    private var pairs: [UInt8] {
        fields.flatMap { field -> [UInt8] in
            switch field {
            case .range(let first, let last): Self.little(first) + Self.little(last)
            case .handle(let handle): Self.little(handle)
            case .uuid(let bytes), .value(let bytes): bytes
            default: []
            }
        }
    }
    private func code(_ name: String) -> UInt8? {
        for field in fields { if case .code(let own, let code) = field, own == name { return UInt8(exactly: code) } }
        return nil
    }
    private func number(_ name: String) -> UInt64? {
        for field in fields { if case .number(let own, let number) = field, own == name { return number } }
        return nil
    }

    // MARK: words

    private static func little(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }
    private static func air(_ address: UInt64) -> [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: address >> (8 * $0)) }
    }
    private static func hex(_ text: Substring) -> UInt64? {
        text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
    }
    /// `(0x1b)`, the last in its line.
    private static func bracketed(_ line: Substring) -> UInt64? {
        guard let open = line.lastIndex(of: "("), let close = line[open...].firstIndex(of: ")") else { return nil }
        return hex(line[line.index(after: open)..<close])
    }
    private static func last(_ line: Substring) -> Int? { line.split(separator: " ").last.flatMap { Int($0) } }

    /// `Generic Access Profile (0x1800)`, `Vendor specific (00010203-0405-0607-0809-0a0b0c0d1912)`.
    private static func uuid(_ text: Substring) -> [UInt8]? {
        if let short = bracketed(text) { return UInt16(exactly: short).map(little) }
        guard let open = text.lastIndex(of: "("), let close = text[open...].firstIndex(of: ")") else { return nil }
        let digits = text[text.index(after: open)..<close].filter { $0 != "-" }
        return digits.count == 32 ? bytes(digits[...])?.reversed() : nil
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var found: [UInt8] = []
        for at in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[at]), let low = nibble(digits[at + 1]) else { return nil }
            found.append(high << 4 | low)
        }
        return found
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x37
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }
}

extension Substring {
    /// Where a piece of text stands first.
    fileprivate func range(of piece: StaticString) -> (start: Index, end: Index)? {
        let count = piece.utf8CodeUnitCount
        var at = startIndex
        while let end = utf8.index(at, offsetBy: count, limitedBy: endIndex) {
            let isHere = piece.withUTF8Buffer { wanted in utf8[at..<end].elementsEqual(wanted) }
            if isHere { return (at, end) }
            guard at < endIndex else { return nil }
            at = utf8.index(after: at)
        }
        return nil
    }
}
