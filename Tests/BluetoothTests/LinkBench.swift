import Bluetooth
import Foundation
import Support

/// The links with the same required behaviour.
enum LinkKind: String, CaseIterable {
    case memory, socket, stream

    var socketKind: UnixSocket.Kind { self == .stream ? .stream : .unix }
}

/// A unique socket path within the system's length limit.
func temporarySocket() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("b\(UInt32.random(in: 0...(.max))).sock").path
}

/// Both ends of a link with their events.
struct LinkBench {
    let central: any CentralLink
    let peripheral: any PeripheralLink
    let centralEvents: Inbox<CentralEvent>
    let peripheralEvents: Inbox<PeripheralEvent>
    let peer: PeerID

    init(
        _ kind: LinkKind, central centralInstruments: LinkInstruments = LinkInstruments(),
        peripheral peripheralInstruments: LinkInstruments = LinkInstruments()
    ) throws {
        switch kind {
        case .memory:
            (central, peripheral) = MemoryLink.pair(central: centralInstruments, peripheral: peripheralInstruments)
            peer = PeerID("memory")
        case .socket, .stream:
            let socket = try UnixSocket(path: temporarySocket(), kind: kind.socketKind)
            central = ATTCentralLink(socket, instruments: centralInstruments)
            peripheral = ATTPeripheralLink(socket, acceptTimeout: .seconds(30), instruments: peripheralInstruments)
            peer = PeerID(socket.path)
        }
        centralEvents = Inbox(central.events)
        peripheralEvents = Inbox(peripheral.events)
    }

    /// Advertises and connects; returns the central's id at the peripheral.
    func connect(_ application: GATTApplication = smallBottle) async throws -> CentralID {
        try await peripheral.open(application)
        return try await reconnect()
    }

    func reconnect() async throws -> CentralID {
        central.perform(.connect(peer, limit: .seconds(5)))
        _ = try await centralEvents.next("connected") { if case .connected(_, let mtu) = $0 { mtu } else { nil } }
        return try await peripheralEvents.next("connected") {
            if case .connected(let central) = $0 { central } else { nil }
        }
    }

    func close() async {
        await central.close()
        await peripheral.close()
    }
}
