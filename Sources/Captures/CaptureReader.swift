/// Reads a capture of any format, streaming: bytes in, packets out. Memory does not grow with the file.
///
/// The reader owns no bytes. Its driver (`CaptureFile` in Replay, or a test) keeps a window of the file, calls
/// `read(_:isLast:_:)` with it, drops as many bytes as were consumed and appends new ones:
///
///     var reader = CaptureReader()
///     while … { consumed = try reader.read(window, isLast: atEnd) { packet, bytes in … } }
///
/// What the file is is found from its first bytes, never from its name.
package struct CaptureReader {
    /// No format has a record (or line) longer than this; a longer one is refused, so that no window grows beyond it.
    package static let longestRecord = Int(longestPacket) + 65_536
    /// What is known of the file so far. `format` is set as soon as the content was recognised.
    package private(set) var facts = CaptureFileFacts()
    /// Reads the interfaces' use ahead, where the file can be read twice: asked when a pcapng section describes two
    /// that may be one.
    package var surveyInterfaces: (() -> InterfaceSurvey?)?
    private var parser = Parser.undecided

    private indirect enum Parser {
        case undecided
        case utf16(UTF16Parser)
        case hexDump(HexDumpParser)
        case monitorText(MonitorTextParser)
        case tsharkJSON(TsharkJSONParser)
        case btsnoop(BtsnoopParser)
        case pcap(PcapParser)
        case pcapng(PcapngParser)
        case packetLogger(PacketLoggerParser)
        case hexText(HexTextParser)
        case nrfConnect(NRFConnectParser)
        /// The error was thrown; there is nothing more.
        case failed
    }

    /// Whether text in UTF-16 is looked for: not in the text that was one.
    private let takesUTF16: Bool

    /// A reader at the beginning of a file of whatever format.
    package init() { takesUTF16 = true }

    private init(takesUTF16: Bool) { self.takesUTF16 = takesUTF16 }

    /// Reads the whole records at the beginning of `window`.
    ///
    /// - Parameters:
    ///   - window: the bytes of the file that follow the ones consumed so far.
    ///   - isLast: no bytes follow `window`.
    ///   - body: called for each record in order. The bytes are borrowed for the time of the call.
    /// - Returns: how many bytes of the window are done with. Without new bytes it makes no sense to call again.
    /// - Throws: `CaptureError`, once, after everything before it was delivered; or whatever `body` throws.
    package mutating func read(_ window: RawSpan, isLast: Bool, _ body: (CapturePacket, RawSpan) throws -> Void) throws
        -> Int
    {
        if case .undecided = parser {
            switch takesUTF16 ? UTF16Parser.look(window, isLast: isLast) : .other {
            case .utf16(let isBigEndian):
                parser = .utf16(UTF16Parser(isBigEndian: isBigEndian, inner: CaptureReader(takesUTF16: false)))
            case .undecided: return 0
            case .other:
                guard let decided = try Self.sniff(window, isLast: isLast) else { return 0 }
                parser = decided
            }
        }
        let current = parser
        // Whatever is thrown below, there is no second time.
        parser = .failed
        let consumed: Int
        do {
            consumed = try parse(current, window, isLast: isLast, body)
        } catch let error as CaptureError {
            // Everything before the trouble was read.
            facts.offset = max(facts.offset, error.offset)
            throw error
        }
        facts.offset += consumed
        return consumed
    }

    private mutating func parse(
        _ current: Parser, _ window: RawSpan, isLast: Bool, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        let consumed: Int
        switch current {
        case .btsnoop(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .btsnoop(inner)
        case .pcap(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .pcap(inner)
        case .pcapng(var inner):
            inner.survey = surveyInterfaces
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .pcapng(inner)
        case .packetLogger(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .packetLogger(inner)
        case .hexText(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .hexText(inner)
        case .nrfConnect(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .nrfConnect(inner)
        case .hexDump(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .hexDump(inner)
        case .monitorText(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .monitorText(inner)
        case .tsharkJSON(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .tsharkJSON(inner)
        case .utf16(var inner):
            consumed = try inner.read(window, isLast: isLast, facts: &facts, body)
            parser = .utf16(inner)
        case .undecided, .failed:
            return window.byteCount
        }
        return consumed
    }

    /// Asks every format in turn: those with a magic number first, text last. While one cannot tell yet, none behind it
    /// is asked, and none sees more than the longest head, so that a pipe that brings few bytes at a time gives the
    /// same as a file. `nil`: more bytes are needed.
    private static func sniff(_ window: RawSpan, isLast: Bool) throws -> Parser? {
        let head = window.extracting(0..<min(window.byteCount, longestRecord))
        let canWait = !isLast && head.byteCount < longestRecord
        for candidate in Candidate.allCases {
            switch candidate.sniff(head, isLast: !canWait) {
            case .mine: return candidate.parser
            case .notMine: continue
            case .broken(let error): throw error
            case .undecided: if canWait { return nil }
            }
        }
        // A refusal shows how the file begins: so much is waited for in any case.
        if canWait, head.byteCount < 512 { return nil }
        throw ForeignFile.unrecognised(head)
    }

    /// The formats in the order in which they are asked.
    private enum Candidate: CaseIterable {
        case btsnoop, pcap, pcapng, foreign, packetLogger, tsharkJSON, hexDump, monitorText, nrfConnect, hexText,
            embeddedLog

        func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
            switch self {
            case .btsnoop: BtsnoopParser.sniff(head, isLast: isLast)
            case .pcap: PcapParser.sniff(head, isLast: isLast)
            case .pcapng: PcapngParser.sniff(head, isLast: isLast)
            case .foreign: ForeignFile.recognise(head, isLast: isLast).map { .broken($0) } ?? .notMine
            case .packetLogger: PacketLoggerParser.sniff(head, isLast: isLast)
            case .nrfConnect: NRFConnectParser.sniff(head, isLast: isLast)
            case .hexText: HexTextParser.sniff(head, isLast: isLast)
            case .tsharkJSON: TsharkJSONParser.sniff(head, isLast: isLast)
            case .hexDump: HexDumpParser.sniff(head, isLast: isLast)
            case .monitorText: MonitorTextParser.sniff(head, isLast: isLast)
            case .embeddedLog: NRFConnectParser.sniffEmbedded(head, isLast: isLast)
            }
        }

        var parser: Parser {
            switch self {
            case .btsnoop: .btsnoop(BtsnoopParser())
            case .pcap: .pcap(PcapParser())
            case .pcapng: .pcapng(PcapngParser())
            case .packetLogger: .packetLogger(PacketLoggerParser())
            case .nrfConnect, .embeddedLog: .nrfConnect(NRFConnectParser())
            case .tsharkJSON: .tsharkJSON(TsharkJSONParser())
            case .hexDump: .hexDump(HexDumpParser())
            case .monitorText: .monitorText(MonitorTextParser())
            case .hexText: .hexText(HexTextParser())
            case .foreign: .failed
            }
        }
    }
}
