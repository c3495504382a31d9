import BlueZ
import Bluetooth
import ESPHome

/// From what a person types after `--link` to the link itself.
package enum LinkFactory {
    /// How notified values travel between bluetoothd and us. Over the air they are the same.
    package enum NotificationWay: String, CaseIterable, Sendable {
        /// By a socket that bluetoothd hands over (AcquireNotify).
        case socket
        /// By signals on the bus (StartNotify, PropertiesChanged).
        case signals
    }

    /// A link for a central: the gateway's end.
    ///
    /// - Parameters:
    ///   - notifications: over BlueZ only; `nil`: the link's own choice.
    ///   - proxyKey: the encryption key of an ESPHome device; `nil`: it speaks in the clear.
    ///   - runtimeFolder: over BlueZ only: where it is kept which connections are ours (`HeldConnections`).
    /// - Throws: `LinkError` with a sentence for a link that this build, or this machine, does not have.
    package static func central(
        _ name: LinkName, notifications: NotificationWay? = nil, runtimeFolder: String? = nil, proxyKey: String? = nil,
        instruments: LinkInstruments = LinkInstruments()
    ) throws(LinkError) -> any CentralLink {
        switch name {
        case .unix(let path): SocketCentralLink(try UnixSocket(path: path), instruments: instruments)
        case .stream(let path): SocketCentralLink(try UnixSocket(path: path, kind: .stream), instruments: instruments)
        case .bluez(let adapter):
            BlueZCentralLink(
                adapter: adapter, notifications: notifications == .socket ? .socket : .signals,
                held: HeldConnections(folder: runtimeFolder),
                log: instruments.log)
        case .l2cap(let place): SocketCentralLink(try L2CAPDialer(place), instruments: instruments)
        case .hci(let place): HCICentralLink(place, instruments: instruments)
        case .esphome(let place): try ESPHomeCentralLink(place, key: proxyKey, instruments: instruments)
        case .capture(let file): try CaptureLink(file: file, hostTime: HostClock.localTime(), instruments: instruments)
        }
    }

    /// A link for a peripheral: the bottle's end. Nothing listens before it is opened.
    ///
    /// Over BlueZ, observer and faults of the instruments work at GATT level (`RecordingPeripheralLink`,
    /// `FaultyPeripheralLink`).
    ///
    /// - Parameter notifications: over BlueZ only; `nil`: the link's own choice.
    /// - Throws: `LinkError` with a sentence for a link that this build, or this machine, does not have, and for faults
    ///   that it cannot enter.
    package static func peripheral(
        _ name: LinkName, notifications: NotificationWay? = nil, instruments: LinkInstruments = LinkInstruments()
    ) throws(LinkError) -> any PeripheralLink {
        if let plan = instruments.faults, let refusal = refusal(of: plan, on: name) {
            throw LinkError(.outOfStep, refusal)
        }
        switch name {
        case .unix(let path): return SocketPeripheralLink(try UnixSocket(path: path), instruments: instruments)
        case .stream(let path):
            return SocketPeripheralLink(try UnixSocket(path: path, kind: .stream), instruments: instruments)
        case .bluez(let adapter): return bluez(adapter, notifications, instruments)
        case .l2cap(let adapter): return try L2CAPPeripheralLink(adapter, instruments: instruments)
        case .hci(let place): return HCIPeripheralLink(place, instruments: instruments)
        case .capture, .esphome:
            throw LinkError(.noAdapter, "the link \(name) is not available here; unix:PATH needs no adapter")
        }
    }

    /// Why a plan's faults cannot all be entered into a link; `nil` where they can.
    package static func refusal(of plan: FaultPlan, on name: LinkName) -> String? {
        guard case .bluez = name, !plan.wordsForPDUs.isEmpty else { return nil }
        let words = plan.wordsForPDUs.joined(separator: ", ")
        return
            """
            \(words) cannot be entered over \(name): bluetoothd agrees on the MTU by itself. Use unix:PATH or \
            l2cap:ADAPTER, or leave it out
            """
    }

    private static func bluez(_ adapter: String?, _ notifications: NotificationWay?, _ instruments: LinkInstruments)
        -> any PeripheralLink
    {
        var link: any PeripheralLink =
            switch notifications {
            case nil: BlueZPeripheralLink(adapter: adapter, log: instruments.log)
            case .socket: BlueZPeripheralLink(adapter: adapter, notifications: .socket, log: instruments.log)
            case .signals: BlueZPeripheralLink(adapter: adapter, notifications: .signals, log: instruments.log)
            }
        // The recording shows what is left of what passes after the faults, as on a link with PDUs.
        if instruments.observe != nil { link = RecordingPeripheralLink(link, instruments: instruments) }
        if instruments.faults != nil { link = FaultyPeripheralLink(link, instruments: instruments) }
        return link
    }
}
