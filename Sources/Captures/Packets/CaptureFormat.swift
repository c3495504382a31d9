/// A file format together with the link type inside it: what a capture is, or is to be written as.
package struct CaptureFormat: Sendable, Hashable {
    /// The file around the packets.
    package enum Container: String, Sendable, Hashable, CaseIterable {
        case btsnoop, pcap, pcapng
        case packetLogger = "PacketLogger"
        case hexText = "hex text"
        case nrfConnect = "nRF Connect log"
        case hexDump = "hex dump"
        case tsharkJSON = "tshark's JSON"
        case monitorText = "btmon's text"
    }

    /// On which level the packets are: formats of one level can be rewritten into each other packet by packet.
    package enum Level: Sendable, Hashable { case hci, linkLayer, text }

    /// The file around the packets.
    package var container: Container
    /// What one record of the file holds.
    package var linkType: LinkType
    /// Byte order of the numbers in the file, where the container leaves a choice (pcap, pcapng, PacketLogger).
    package var isBigEndian: Bool

    package init(_ container: Container, _ linkType: LinkType, isBigEndian: Bool = false) {
        self.container = container
        self.linkType = linkType
        self.isBigEndian = isBigEndian
    }

    /// On which level its packets are, which the link type decides.
    package var level: Level { linkType.level }
}

extension CaptureFormat: CustomStringConvertible {
    /// The name that `init(name:)` takes; for a combination without a name, container and link type in words.
    package var description: String {
        Self.named.first { $0.format == self }?.name
            ?? "\(container.rawValue) (\(linkType))\(isBigEndian ? ", big-endian" : "")"
    }

    /// Every format that can be written, with the name it has on a command line.
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

    /// By its name, in any case: one of `named`, or `nil`.
    package init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name.lowercased() }) else { return nil }
        self = found.format
    }

    /// The format that a file's name suggests for writing (reading goes by content): `.btsnoop` and `.log` btsnoop H4,
    /// `.pcap` and `.cap`, `.pcapng`, `.pklg`, `.hex` and `.txt` hex text.
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
}

/// What the records of a file hold, under the number of its pcap link type (www.tcpdump.org/linktypes.html).
/// An open set: files hold others, which are refused by number.
package struct LinkType: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number of the pcap link type; above 65,535 one of our own, for what has none.
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// HCI UART (H4) packets without direction: pcap 187; with the flags of its records also btsnoop 1002.
    package static let h4 = Self(rawValue: 187)
    /// H4 after a 4-byte direction word: pcap 201.
    package static let h4WithDirection = Self(rawValue: 201)
    /// Linux monitor: pcap 254, btsnoop 2001.
    package static let monitor = Self(rawValue: 254)
    /// LE link layer: pcap 251.
    package static let linkLayer = Self(rawValue: 251)
    /// LE link layer after a 10-byte radio header: pcap 256.
    package static let linkLayerWithRadio = Self(rawValue: 256)
    /// Ubertooth's packets, or others', after what each says of itself: pcap 192.
    package static let ppi = Self(rawValue: 192)
    /// Nordic's sniffer: pcap 272.
    package static let nordic = Self(rawValue: 272)
    /// Unframed HCI, its kind in the record's flags: btsnoop 1001 (no pcap number: the btsnoop one).
    package static let h1 = Self(rawValue: 1001)
    /// Apple PacketLogger (no pcap number of its own here).
    package static let packetLogger = Self(rawValue: 0x1_0001)
    /// Characteristic values as text (no pcap number).
    package static let text = Self(rawValue: 0x1_0002)

    /// On which level packets of this type are.
    package var level: CaptureFormat.Level {
        switch self {
        case .linkLayer, .linkLayerWithRadio, .nordic, .ppi: .linkLayer
        case .text: .text
        default: .hci
        }
    }

    /// For people; a type that is not known by its number.
    package var description: String {
        switch self {
        case .h4: "Bluetooth HCI H4"
        case .h4WithDirection: "Bluetooth HCI H4 with direction"
        case .monitor: "Bluetooth Linux monitor"
        case .linkLayer: "Bluetooth LE link layer"
        case .linkLayerWithRadio: "Bluetooth LE link layer with radio header"
        case .nordic: "Nordic BLE sniffer"
        case .ppi: "Bluetooth LE link layer after PPI"
        case .h1: "Bluetooth HCI H1"
        case .packetLogger: "Apple PacketLogger"
        case .text: "characteristic values"
        default: "link type \(rawValue)"
        }
    }
}
