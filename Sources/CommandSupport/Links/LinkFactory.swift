package import Bluetooth
package import BlueZ
import ESPHome

extension LinkName {
    package var hasRadio: Bool {
        switch self {
        case .bluez, .l2cap, .hci, .esphome: true
        case .unix, .stream, .capture: false
        }
    }

    /// Whether a bottle in range can belong to another person, because the link scans by radio.
    package var hasNeighbours: Bool { if case .l2cap = self { false } else { hasRadio } }
}

/// Creates a link from the value of `--link`.
package enum LinkFactory {
    package typealias NotificationMethod = BlueZ.NotificationMethod

    /// Creates a central link, for the gateway.
    /// - Parameters:
    ///   - notifications: the way of GATT notifications over BlueZ; `nil` for the default.
    ///   - proxyKey: the encryption key of an ESPHome device, or `nil`.
    ///   - runtimeFolder: the directory of `HeldConnections` over BlueZ.
    /// - Throws: `LinkError` if this build or machine does not support the link.
    package static func central(
        _ name: LinkName, notifications: NotificationMethod? = nil, runtimeFolder: String? = nil,
        proxyKey: String? = nil, instruments: LinkInstruments = LinkInstruments()
    ) throws(LinkError) -> any CentralLink {
        switch name {
        case .unix(let path): ATTCentralLink(try UnixSocket(path: path), instruments: instruments)
        case .stream(let path): ATTCentralLink(try UnixSocket(path: path, kind: .stream), instruments: instruments)
        case .bluez(let adapter):
            BlueZCentralLink(
                adapter: adapter, notifications: notifications ?? .signals,
                held: HeldConnections(folder: runtimeFolder), log: instruments.log)
        case .l2cap(let target): ATTCentralLink(try L2CAPDialer(target), instruments: instruments)
        case .hci(let target): ATTCentralLink(hci: target, instruments: instruments)
        case .esphome(let target): try ESPHomeCentralLink(target, key: proxyKey, instruments: instruments)
        case .capture(let file): try CaptureLink(file: file, hostTime: HostClock.localTime(), instruments: instruments)
        }
    }

    /// Creates a peripheral link, for an emulated bottle. It listens after `open`. Over BlueZ, the recording and the
    /// faults apply to GATT values instead of PDUs.
    /// - Parameter notifications: the way of GATT notifications over BlueZ; `nil` for the default.
    /// - Throws: `LinkError` if this build or machine does not support the link or the faults.
    package static func peripheral(
        _ name: LinkName, notifications: NotificationMethod? = nil, instruments: LinkInstruments = LinkInstruments()
    ) throws(LinkError) -> any PeripheralLink {
        if let plan = instruments.faults, let refusal = refusal(of: plan, on: name) {
            throw LinkError(.invalidState, refusal)
        }
        switch name {
        case .unix(let path): return ATTPeripheralLink(try UnixSocket(path: path), instruments: instruments)
        case .stream(let path):
            return ATTPeripheralLink(try UnixSocket(path: path, kind: .stream), instruments: instruments)
        case .bluez(let adapter): return bluez(adapter, notifications, instruments)
        case .l2cap(let adapter): return ATTPeripheralLink(try L2CAPListener(adapter), instruments: instruments)
        case .hci(let target): return ATTPeripheralLink(hci: target, instruments: instruments)
        case .capture, .esphome:
            throw LinkError(.noAdapter, "an emulated bottle cannot use the link \(name); unix:PATH needs no adapter")
        }
    }

    /// Returns the reason why a link does not support the faults; `nil` if it does.
    package static func refusal(of plan: FaultPlan, on name: LinkName) -> String? {
        guard case .bluez = name, !plan.faultsThatNeedPDUs.isEmpty else { return nil }
        let names = plan.faultsThatNeedPDUs.joined(separator: ", ")
        return """
            \(names) is not possible over \(name): bluetoothd negotiates the MTU. Use unix:PATH or l2cap:ADAPTER, \
            or omit it
            """
    }

    private static func bluez(_ adapter: String?, _ notifications: NotificationMethod?, _ instruments: LinkInstruments)
        -> any PeripheralLink
    {
        let link = BlueZPeripheralLink(adapter: adapter, notifications: notifications ?? .socket, log: instruments.log)
        guard instruments.observe != nil || instruments.faults != nil else { return link }
        return InstrumentedPeripheralLink(link, instruments: instruments)
    }
}
