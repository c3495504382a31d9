/// What `tshark -T json -x` prints: each packet's bytes, its time, its number, and the protocols around it.
///
///     "frame_raw": [
///       "043e13010041000000d2d13138c1a418000000f40100",
///       …
///     "frame": {
///       "frame.time_epoch": "1795237335.059486000",
///       "frame.number": "1",
///       "frame.p2p_dir": "1",
///       "frame.protocols": "bluetooth:hci_h4:bthci_evt"
///
/// It is read line by line, as tshark lays it out. What stands beside a packet's bytes in its file (kind, direction,
/// adapter) is found under the name of what wrote it. Without `-x` there are no bytes in it, and nothing can be made of
/// it. Source: tshark 4.0.
struct TsharkJSONParser: FormatParser {
    private var raw: [UInt8]?
    private var time: CaptureTime?
    private var direction: PacketDirection?
    private var number: Int?
    /// A record of the Linux monitor whose adapter and opcode are told further down.
    private var monitored: [UInt8]?
    private var adapter: UInt16 = 0
    private var expectsRaw = false
    private var isClosed = false
    private var frames = 0
    private var bytes: [UInt8] = []

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        var at = TextHead.start(head), lines = 0
        while case (var line, let next, _)? = TextLine.next(head, from: at, isLast: isLast) {
            line.skipBlanks(head)
            let expected: StaticString = lines == 0 ? "[" : lines == 1 ? "{" : "\"_index\": "
            if line.at < line.end {
                guard head.has(expected, at: line.at) else { return .notMine }
                lines += 1
                if lines == 3 { return .mine }
            }
            at = next
        }
        return isLast || TextHead.isBinary(head, at..<head.byteCount) ? .notMine : .undecided
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if facts.format == nil {
            facts.format = CaptureFormat(.tsharkJSON, .h4WithDirection)
            at = TextHead.start(window)
        }
        while let (line, next, isComplete) = TextLine.next(window, from: at, isLast: isLast) {
            guard isComplete || isLast else { break }
            try read(line, window, place: facts.offset + at, facts: &facts, body)
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError(
                .broken, at: facts.offset + at,
                "a line is longer than any packet can be: the file is damaged here; everything before it was read")
        }
        guard isLast else { return at }
        if !isClosed {
            throw CaptureError(
                .cut, at: facts.offset + at,
                """
                the file ends at byte \(facts.offset + window.byteCount), before the end of its list; everything \
                before it was read
                """
            )
        }
        if frames > 0, facts.packets == 0 {
            throw CaptureError(
                .unsupported, at: 0,
                """
                this is tshark's JSON without the packets' bytes, or without what they are (-T jsonraw): make it \
                with tshark -T json -x
                """
            )
        }
        return at
    }

    private mutating func read(
        _ line: TextLine, _ window: RawSpan, place: Int, facts: inout CaptureFileFacts,
        _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        var line = line
        let isOutermost = line.at < line.end && window.u8(line.at) == UInt8(ascii: "]")
        line.skipBlanks(window)
        if expectsRaw {
            expectsRaw = false
            guard let text = Self.quoted(line, window), window.hexBytes(text, into: &bytes) else {
                throw CaptureError(
                    .broken, at: place,
                    """
                    a packet's bytes in this line are not pairs of hex digits: the file is damaged here; \
                    everything before it was read
                    """
                )
            }
            raw = bytes
        } else if isOutermost {
            isClosed = true
        } else if line.take("\"_index\": ", window) {
            frames += 1
            (raw, time, direction, number, monitored, adapter) = (nil, nil, nil, nil, nil, 0)
        } else if line.take("\"frame_raw\": [", window) {
            expectsRaw = true
        } else if line.take("\"frame.time_epoch\": ", window) {
            time = Self.quoted(line, window).flatMap { TextTime.seconds(window, $0) }.map {
                CaptureTime(sinceEpoch: $0)
            }
        } else if line.take("\"frame.number\": ", window) {
            number = Self.quoted(line, window).flatMap { window.decimal($0) }.map { Int($0) }
        } else if line.take("\"frame.p2p_dir\": ", window) {
            guard let text = Self.quoted(line, window) else { return }
            direction = window.equals(text, "0") ? .sent : window.equals(text, "1") ? .received : nil
        } else if line.take("\"frame.protocols\": ", window), let protocols = Self.quoted(line, window), let raw {
            self.raw = nil
            try deliver(raw, protocols, window, facts: &facts, body)
        } else if line.take("\"hci_mon.adapter_id\": ", window) {
            adapter = Self.quoted(line, window).flatMap { window.decimal($0) }.flatMap { UInt16(exactly: $0) } ?? 0
        } else if line.take("\"hci_mon.opcode\": ", window), let record = monitored {
            monitored = nil
            guard
                let opcode = Self.quoted(line, window).flatMap({ window.decimal($0) }).flatMap({ UInt16(exactly: $0) })
            else { return }
            var packet = CapturePacket(number: facts.packets, time: time, direction: nil, content: .unknown)
            packet.setMonitor(opcode: opcode, adapter: adapter)
            try body(packet, record.span.bytes)
        }
    }

    private mutating func deliver(
        _ raw: [UInt8], _ protocols: Range<Int>, _ window: RawSpan, facts: inout CaptureFileFacts,
        _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        // A packet's own number is kept: what was filtered out is missing between them.
        facts.packets = max(facts.packets + 1, number ?? 0)
        var packet = CapturePacket(number: facts.packets, time: time, direction: direction, content: .unknown)
        func goes(_ name: StaticString) -> Bool { window.has(name, at: protocols.lowerBound) }
        if goes("bluetooth:hci_h4") {
            note(.h4WithDirection, &facts)
            try packet.deliverH4(raw.span.bytes, facts: &facts, body)
        } else if goes("bluetooth:btle_rf") || goes("btle_rf") {
            note(.linkLayerWithRadio, &facts)
            try packet.deliver(.linkLayerWithRadio, raw.span.bytes, facts: &facts, body)
        } else if goes("bluetooth:btle") || goes("btle") {
            note(.linkLayer, &facts)
            try packet.deliver(.linkLayer, raw.span.bytes, facts: &facts, body)
        } else if goes("nordic_ble") {
            note(.nordic, &facts)
            try packet.deliver(.nordic, raw.span.bytes, facts: &facts, body)
        } else if goes("bluetooth:hci_mon") {
            note(.monitor, &facts)
            monitored = raw
        } else if goes("bluetooth:packetlogger"), let type = raw.first {
            note(.packetLogger, &facts)
            packet.setPacketLogger(type: type)
            try body(packet, raw.span.bytes.extracting(1..<raw.count))
        } else if let type = Self.unframed(protocols, window) {
            note(.h1, &facts)
            packet.content = .hci(type)
            try body(packet, raw.span.bytes)
        } else {
            facts.unreadable += 1
            try body(packet, raw.span.bytes)
        }
    }

    /// What a packet without a type byte is, by the protocol inside.
    private static func unframed(_ protocols: Range<Int>, _ bytes: RawSpan) -> HCIPacketType? {
        if bytes.has("bluetooth:hci_h1:bthci_acl", at: protocols.lowerBound) { return .acl }
        if bytes.has("bluetooth:hci_h1:bthci_evt", at: protocols.lowerBound) { return .event }
        return bytes.has("bluetooth:hci_h1:bthci_cmd", at: protocols.lowerBound) ? .command : nil
    }

    private func note(_ linkType: LinkType, _ facts: inout CaptureFileFacts) {
        guard !facts.linkTypes.contains(linkType) else { return }
        if facts.linkTypes.isEmpty { facts.format = CaptureFormat(.tsharkJSON, linkType) }
        facts.linkTypes.append(linkType)
    }

    /// What stands between the quotes.
    private static func quoted(_ line: TextLine, _ bytes: RawSpan) -> Range<Int>? {
        var line = line
        line.skipBlanks(bytes)
        guard line.take("\"", bytes),
            let end = (line.at..<line.end).first(where: { bytes.u8($0) == UInt8(ascii: "\"") })
        else { return nil }
        return line.at..<end
    }
}
