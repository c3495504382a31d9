package import Bluetooth

/// A file format together with the link type of its records.
package struct CaptureFormat: Sendable, Hashable {
    /// The structure of the file, independent of the link type of its records.
    package enum Container: String, Sendable, Hashable, CaseIterable {
        case btsnoop, pcap, pcapng
        case packetLogger = "PacketLogger"
        case hexText = "hex text"
        case nrfConnect = "nRF Connect log"
        case hexDump = "hex dump"
        case tsharkJSON = "tshark's JSON"
        case monitorText = "btmon's text"
    }

    /// The protocol layer of the packets. Captures of one layer are converted into each other packet by packet.
    package enum Layer: Sendable, Hashable { case hci, linkLayer, text }

    package var container: Container
    package var linkType: LinkType
    /// The byte order of numbers, if the container allows both (pcap, pcapng, PacketLogger).
    package var isBigEndian: Bool

    package init(_ container: Container, _ linkType: LinkType, isBigEndian: Bool = false) {
        self.container = container
        self.linkType = linkType
        self.isBigEndian = isBigEndian
    }

    package var layer: Layer { linkType.layer }
}

extension CaptureFormat: CustomStringConvertible {
    /// The name that `init(name:)` accepts; for formats that cannot be written, the container and the link type.
    package var description: String {
        Self.named.first { $0.format == self }?.name
            ?? "\(container.rawValue) (\(linkType))\(isBigEndian ? ", big-endian" : "")"
    }

    /// The formats that can be written, with their command-line names.
    package static let named: [(name: String, format: CaptureFormat)] = [
        ("btsnoop", .init(.btsnoop, .h4)), ("btsnoop-h1", .init(.btsnoop, .h1)),
        ("btsnoop-monitor", .init(.btsnoop, .monitor)),
        ("pcap", .init(.pcap, .h4WithDirection)), ("pcap-h4", .init(.pcap, .h4)),
        ("pcap-monitor", .init(.pcap, .monitor)),
        ("pcap-ll", .init(.pcap, .linkLayer)), ("pcap-ll-phdr", .init(.pcap, .linkLayerWithRadio)),
        ("pcapng", .init(.pcapng, .h4WithDirection)), ("pcapng-h4", .init(.pcapng, .h4)),
        ("pcapng-monitor", .init(.pcapng, .monitor)),
        ("pcapng-ll", .init(.pcapng, .linkLayer)), ("pcapng-ll-phdr", .init(.pcapng, .linkLayerWithRadio)),
        ("pklg", .init(.packetLogger, .packetLogger)),
        ("pklg-be", .init(.packetLogger, .packetLogger, isBigEndian: true)),
        ("hex", .init(.hexText, .text)), ("nrf", .init(.nrfConnect, .text)),
    ]

    package init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name.lowercased() }) else { return nil }
        self = found.format
    }

    /// Chooses the format for an output file by its suffix, such as `.pcapng`; `nil` for an unknown suffix.
    package init?(suffixOf path: String) {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return nil }
        switch name[name.index(after: dot)...].lowercased() {
        case "btsnoop", "log", "snoop": self.init(.btsnoop, .h4)
        case "pcap", "cap": self.init(.pcap, .h4WithDirection)
        case "pcapng": self.init(.pcapng, .h4WithDirection)
        case "pklg": self.init(.packetLogger, .packetLogger)
        case "hex", "txt": self.init(.hexText, .text)
        default: return nil
        }
    }

    /// Whether the format separates the packets of several adapters.
    package var keepsAdapters: Bool {
        switch (container, linkType) {
        case (.pcapng, _), (_, .monitor): true
        default: layer != .hci
        }
    }

    package var keepsDirection: Bool {
        switch (container, linkType) {
        case (.pcap, .h4), (_, .linkLayer): false
        default: true
        }
    }

    package var isWritable: Bool {
        Self.named.contains { $0.format.container == container && $0.format.linkType == linkType }
    }
}

/// The pcap link type of a file's records (www.tcpdump.org/linktypes.html). This project defines numbers above 65,535
/// for formats that have no pcap link type.
package struct LinkType: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// HCI UART (H4) packets without direction: pcap 187. Also btsnoop 1002, whose record flags have the direction.
    package static let h4 = Self(rawValue: 187)
    /// H4 after a 4-byte direction word: pcap 201.
    package static let h4WithDirection = Self(rawValue: 201)
    /// Linux monitor: pcap 254, btsnoop 2001.
    package static let monitor = Self(rawValue: 254)
    /// LE link layer: pcap 251.
    package static let linkLayer = Self(rawValue: 251)
    /// LE link layer after a 10-byte radio header: pcap 256.
    package static let linkLayerWithRadio = Self(rawValue: 256)
    /// Per-Packet Information, as Ubertooth writes it: pcap 192.
    package static let ppi = Self(rawValue: 192)
    /// Nordic's sniffer: pcap 272.
    package static let nordic = Self(rawValue: 272)
    /// HCI packets without a type byte; the record's flags have the type: btsnoop 1001.
    package static let h1 = Self(rawValue: 1001)
    package static let packetLogger = Self(rawValue: 0x1_0001)
    package static let text = Self(rawValue: 0x1_0002)

    private typealias Properties = (title: String, layer: CaptureFormat.Layer, isReadInPcap: Bool)

    private static let known: [LinkType: Properties] = [
        .h4: ("Bluetooth HCI H4", .hci, true),
        .h4WithDirection: ("Bluetooth HCI H4 with direction", .hci, true),
        .monitor: ("Bluetooth Linux monitor", .hci, true),
        .linkLayer: ("Bluetooth LE link layer", .linkLayer, true),
        .linkLayerWithRadio: ("Bluetooth LE link layer with radio header", .linkLayer, true),
        .nordic: ("Nordic BLE sniffer", .linkLayer, true),
        .ppi: ("Bluetooth LE link layer after PPI", .linkLayer, true),
        .h1: ("Bluetooth HCI H1", .hci, false),
        .packetLogger: ("Apple PacketLogger", .hci, false),
        .text: ("characteristic values", .text, false),
    ]

    package var layer: CaptureFormat.Layer { Self.known[self]?.layer ?? .hci }

    /// Whether `PcapParser` and `PcapngParser` read packets of this link type.
    var isReadInPcap: Bool { Self.known[self]?.isReadInPcap ?? false }

    package var description: String { Self.known[self]?.title ?? unsupportedName ?? "link type \(rawValue)" }

    /// The name of an unsupported link type that users might pass, for error messages; `nil` for any other.
    var unsupportedName: String? {
        switch rawValue {
        case 1: "Ethernet"
        case 105, 127: "Wi-Fi"
        case 113, 276: "Linux cooked network packets"
        case 161, 255: "classic Bluetooth baseband"
        case 189, 220: "Linux USB"
        case 195, 215, 230, 283: "IEEE 802.15.4"
        case 249: "USBPcap"
        default: nil
        }
    }
}

/// The format, device names and packet counts of a capture file, as far as it was read.
package struct CaptureFileInfo: Sendable, Hashable {
    /// Container and first link type; `nil` until the content is recognised.
    package var format: CaptureFormat?
    /// Every link type, in order of first use.
    package var linkTypes: [LinkType] = []
    package var packets = 0
    /// The number of records with an unsupported link type or packet type.
    package var unreadableRecords = 0
    /// The number of bytes read so far.
    package var offset = 0
    /// The device name in the header of a text capture.
    package var name: String?
    /// The device names by address, from text captures.
    package var names: [BluetoothAddress: String] = [:]
    /// The device address in the header of a text capture.
    package var address: BluetoothAddress?
    /// The value of `profile:` in the header of a text capture.
    package var profile: String?
    /// Up to eight notes about the file for the user, one sentence each.
    package var remarks: [String] = []
    /// The number of text lines read so far.
    var lines = 0
    /// The number of text lines that the parser did not understand.
    package private(set) var skippedLines = 0
    private var firstSkippedLine = ""

    package init() {}

    mutating func addRemark(_ sentence: String) {
        if remarks.count < 8, !remarks.contains(sentence) { remarks.append(sentence) }
    }

    mutating func addLinkType(_ linkType: LinkType, of container: CaptureFormat.Container, isBigEndian: Bool = false) {
        if format == nil { format = CaptureFormat(container, linkType, isBigEndian: isBigEndian) }
        if !linkTypes.contains(linkType) { linkTypes.append(linkType) }
    }

    /// Adds a device name. Keeps at most 4,096 names.
    mutating func addName(_ name: String, of address: BluetoothAddress) {
        if names.count < 4096 { names[address] = name }
    }

    mutating func countSkippedLine(line: Int, _ text: Substring) {
        if skippedLines == 0 { firstSkippedLine = "line \(line): \(TextEncoding.oneLine(String(text.prefix(80))))" }
        skippedLines += 1
    }

    /// A message about the lines that the parser did not understand; `nil` if there are none.
    package var skippedLinesMessage: String? {
        guard skippedLines > 0 else { return nil }
        return
            "\(skippedLines) \(skippedLines == 1 ? "line was" : "lines were") not understood, first \(firstSkippedLine)"
    }
}

/// The error that ended the reading or writing of a capture. All packets before `offset` were delivered.
package struct CaptureError: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case unrecognised
        /// A known format with an unsupported link type or version.
        case unsupported
        case truncated
        /// The bytes do not conform to their format.
        case malformed
        /// The output format cannot store the packet.
        case notStorable
    }

    package var kind: Kind
    /// The byte offset in the file at which the error begins.
    package var offset: Int
    /// The error message, with advice for the user if there is any.
    package var sentence: String

    package init(_ kind: Kind, at offset: Int, _ sentence: String) {
        self.kind = kind
        self.offset = offset
        self.sentence = sentence
    }

    /// Creates the error for a file that ends inside a record.
    /// - Parameters:
    ///   - record: the number from 1, or `nil` for the file header.
    ///   - start, end: the file offsets of the start of the record and of the end of the file.
    ///   - needed: the length of the record in bytes.
    static func truncated(record: Int?, start: Int, end: Int, needed: Int) -> CaptureError {
        let part = record.map { "record \($0)" } ?? "the file header"
        return CaptureError(
            .truncated, at: start,
            """
            the file ends at byte \(end), in the middle of \(part), which needs \(needed) bytes and has \
            \(end - start); everything before it was read
            """)
    }

    static func malformed(at offset: Int, _ problem: String) -> CaptureError {
        CaptureError(.malformed, at: offset, "\(problem): the file is damaged here; everything before it was read")
    }

    static func tooLong(record: Int, start: Int, length: UInt64) -> CaptureError {
        .malformed(at: start, "record \(record) claims a length of \(length) bytes, more than any Bluetooth packet has")
    }

    static func linkType(_ linkType: LinkType, at offset: Int) -> CaptureError {
        let name = linkType.unsupportedName.map { "\($0) (link type \(linkType.rawValue))" } ?? "\(linkType)"
        return CaptureError(
            .unsupported, at: offset,
            "unsupported content: \(name); expected Bluetooth, link type 187, 192, 201, 251, 254, 256 or 272")
    }

    static func notStorable(_ sentence: String) -> CaptureError { CaptureError(.notStorable, at: 0, sentence) }
}

extension CaptureError: CustomStringConvertible {
    /// The message with the byte offset, except for errors of the whole file.
    package var description: String {
        kind == .unrecognised || kind == .notStorable ? sentence : "\(sentence) (at byte \(offset))"
    }
}

/// The maximum length of a packet in bytes, which is Wireshark's limit.
let longestPacket: UInt32 = 262_144
