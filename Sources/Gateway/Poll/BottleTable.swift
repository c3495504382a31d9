import BottleProtocol
import Bluetooth

/// The handles of the characteristics that a poll uses.
struct BottleTable: Hashable, Sendable {
    var handles: ProfileHandles
    /// The handles of Device Name (2A00) and Serial Number String (2A25), if readable.
    var deviceName: UInt16?
    var serialNumber: UInt16?

    var profile: BottleProfile { handles.profile }
    var command: UInt16 { handles.command }
    var commandWithResponse: Bool { handles.commandWithResponse }
    /// Whether the command characteristic supports writes with and without response.
    var commandBothWays: Bool { handles.commandBothWays }
    var response: UInt16 { handles.response }
    var responseNotifies: Bool { handles.responseNotifies }
    var responseReads: Bool { handles.responseReads }

    init(services: [RemoteService]) throws(NoMatchingProfile) {
        self = try Self.all(in: services)[0]
    }

    private init(_ handles: ProfileHandles, _ services: [RemoteService]) {
        self.handles = handles
        deviceName = Self.readable(0x2A00, in: 0x1800, services)
        serialNumber = Self.readable(0x2A25, in: 0x180A, services)
    }

    /// The tables of all pairs of characteristics that could be the bottle's, most likely first; never empty.
    static func all(in services: [RemoteService]) throws(NoMatchingProfile) -> [BottleTable] {
        do {
            return try ProfileHandles.all(matching: services.flatMap(offered)).map { BottleTable($0, services) }
        } catch {
            let names = services.prefix(12).map(\.uuid.description).joined(separator: ", ")
            throw NoMatchingProfile(
                sentence:
                    """
                    it has \(names.isEmpty ? "no services" : "the services \(names)"): \
                    \(error.reasons.joined(separator: "; ")).
                    """
            )
        }
    }

    struct NoMatchingProfile: Error, Hashable, Sendable {
        var sentence: String
    }

    /// The characteristics of a service with a 16-bit UUID; empty for others, such as the firmware update.
    private static func offered(_ service: RemoteService) -> [OfferedCharacteristic] {
        guard let name = service.uuid.short else { return [] }
        return service.characteristics.compactMap { characteristic in
            characteristic.uuid.short.map {
                OfferedCharacteristic(
                    service: name, uuid: $0, handle: characteristic.handle,
                    properties: characteristic.properties.rawValue)
            }
        }
    }

    private static func readable(_ uuid: UInt16, in service: UInt16, _ services: [RemoteService]) -> UInt16? {
        services.filter { $0.uuid == BluetoothUUID(service) }.flatMap(\.characteristics)
            .first { $0.uuid == BluetoothUUID(uuid) && $0.properties.contains(.read) }?.handle
    }
}
