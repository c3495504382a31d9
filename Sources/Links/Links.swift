import BlueZ
import Bluetooth
import Emulation
import HostController

/// From what a person types after `--link` to the link itself.
public enum LinkFactory {
    /// A link for a central: the gateway's end.
    ///
    /// - Throws: `LinkError` with a sentence for a link that this build, or this machine, does not have.
    public static func central(_ name: LinkName, instruments: LinkInstruments = LinkInstruments()) throws(LinkError) -> any CentralLink {
        switch name {
        case .unix(let path): SocketCentralLink(try UnixSocket(path: path), instruments: instruments)
        case .bluez(let adapter): BlueZCentralLink(adapter: adapter, log: instruments.log)
        case .l2cap(let place): SocketCentralLink(try L2CAPDialer(place), instruments: instruments)
        case .capture(let file): try CaptureLink(file: file, hostTime: HostClock.localTime(), instruments: instruments)
        }
    }

    /// A link for a peripheral: the bottle's end. Nothing listens before it is opened.
    ///
    /// - Throws: `LinkError` with a sentence for a link that this build, or this machine, does not have.
    public static func peripheral(_ name: LinkName, instruments: LinkInstruments = LinkInstruments()) throws(LinkError) -> any PeripheralLink {
        switch name {
        case .unix(let path): SocketPeripheralLink(try UnixSocket(path: path), instruments: instruments)
        case .bluez(let adapter): BlueZPeripheralLink(adapter: adapter, log: instruments.log)
        case .l2cap(let adapter): try L2CAPPeripheralLink(adapter, instruments: instruments)
        case .capture: throw missing(name)
        }
    }

    private static func missing(_ name: LinkName) -> LinkError {
        LinkError(.noAdapter, "the link \(name) is not available here; unix:PATH needs no adapter")
    }
}
