/// The value of `--link` (CLI spec C3).
package enum LinkName: Hashable, Sendable {
    /// bluetoothd, on the named adapter (`hci1`) or on the first powered one.
    case bluez(adapter: String?)
    /// A Unix SOCK_SEQPACKET socket with one ATT PDU per message.
    case unix(path: String)
    /// A Unix stream socket with each ATT PDU in an L2CAP basic frame, for languages without SEQPACKET.
    case stream(path: String)
    /// ATT on an L2CAP LE socket, CID 4: an adapter name for the peripheral, an address for the central.
    case l2cap(String)
    /// An HCI controller over TCP, such as Bumble's or the Android emulator's.
    case hci(NetworkEndpoint)
    /// The native API of an ESPHome Bluetooth proxy.
    case esphome(NetworkEndpoint)
    /// A capture file, from which the recorded bottle answers.
    case capture(file: String)

    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let text: String
        package var description: String {
            """
            invalid link '\(text)': expected bluez, bluez:hci1, unix:PATH, stream:PATH, l2cap:hci1, l2cap:ADDRESS, \
            hci:HOST:PORT, esphome:HOST or capture:FILE
            """
        }
    }

    /// The default TCP port of ESPHome's native API.
    package static let defaultESPHomePort: UInt16 = 6053

    package init(_ text: String) throws(Malformed) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = parts.count > 1 ? String(parts[1]) : nil
        switch (parts.first.map(String.init), rest) {
        case ("bluez", nil): self = .bluez(adapter: nil)
        case ("bluez", let adapter?) where !adapter.isEmpty: self = .bluez(adapter: adapter)
        case ("unix", let path?) where !path.isEmpty: self = .unix(path: path)
        case ("stream", let path?) where !path.isEmpty: self = .stream(path: path)
        case ("l2cap", let target?) where !target.isEmpty: self = .l2cap(target)
        case ("hci", let address?):
            guard let endpoint = NetworkEndpoint(address) else { throw Malformed(text: text) }
            self = .hci(endpoint)
        case ("esphome", let address?):
            guard let endpoint = NetworkEndpoint(address, defaultPort: Self.defaultESPHomePort) else {
                throw Malformed(text: text)
            }
            self = .esphome(endpoint)
        case ("capture", let file?) where !file.isEmpty: self = .capture(file: file)
        default: throw Malformed(text: text)
        }
    }
}

extension LinkName: CustomStringConvertible {
    package var description: String {
        switch self {
        case .bluez(nil): "bluez"
        case .bluez(let adapter?): "bluez:\(adapter)"
        case .unix(let path): "unix:\(path)"
        case .stream(let path): "stream:\(path)"
        case .l2cap(let target): "l2cap:\(target)"
        case .hci(let endpoint): "hci:\(endpoint)"
        case .esphome(let endpoint): "esphome:\(endpoint)"
        case .capture(let file): "capture:\(file)"
        }
    }
}
