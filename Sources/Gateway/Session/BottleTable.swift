import BottleProtocol
import Bluetooth

/// What discovery found of a bottle: which profile it speaks, and through which handles.
///
/// Short UUIDs such as FFE0 are shared by countless gadgets, so a service of the right name proves nothing: the
/// characteristics must be there with the properties that the profile needs (protocol law P1).
struct BottleTable: Hashable, Sendable {
    var profile: BottleProfile
    var command: UInt16
    /// How the command characteristic is written.
    var commandWithResponse: Bool
    /// The other way of writing is offered too.
    var commandBothWays: Bool
    var response: UInt16
    var responseNotifies: Bool
    var responseReads: Bool
    /// Device Name (2A00) and Serial Number String (2A25), where they can be read.
    var deviceName: UInt16?
    var serialNumber: UInt16?

    /// Both profiles in one table: the retail one says more, so it is tried first.
    init(services: [RemoteService]) throws(NoBottle) {
        var reasons: [String] = []
        for profile in [BottleProfile.retail, .draft] {
            switch Self.match(profile, services) {
            case .found(let table):
                self = table
                deviceName = Self.readable(0x2A00, in: 0x1800, services)
                serialNumber = Self.readable(0x2A25, in: 0x180A, services)
                return
            case .missing(let reason):
                reasons.append(reason)
            }
        }
        let names = services.prefix(12).map(\.uuid.description).joined(separator: ", ")
        throw NoBottle(sentence: "it has \(names.isEmpty ? "no services" : "the services \(names)"): \(reasons.joined(separator: "; ")).")
    }

    /// Why a table is no bottle's.
    struct NoBottle: Error, Hashable, Sendable {
        var sentence: String
    }

    private enum Match {
        case found(BottleTable)
        case missing(String)
    }

    private static func match(_ profile: BottleProfile, _ services: [RemoteService]) -> Match {
        let commands = characteristics(profile.commandCharacteristic, in: profile.commandService, services)
        let responses = characteristics(profile.responseCharacteristic, in: profile.responseService, services)
        let commandName = "\(BluetoothUUID(profile.commandCharacteristic))"
        let responseName = "\(BluetoothUUID(profile.responseCharacteristic))"
        guard !commands.isEmpty else { return .missing("the \(profile.rawValue) profile's \(commandName) is missing") }
        guard !responses.isEmpty else { return .missing("the \(profile.rawValue) profile's \(responseName) is missing") }
        guard let command = commands.first(where: { !$0.properties.isDisjoint(with: [.write, .writeWithoutResponse]) }) else {
            return .missing("\(commandName) cannot be written")
        }
        let notifying = responses.first { !$0.properties.isDisjoint(with: [.notify, .indicate]) }
        let reading = profile == .draft ? responses.first { $0.properties.contains(.read) } : nil
        guard let response = notifying ?? reading else {
            return .missing("\(responseName) \(profile == .draft ? "can neither notify nor be read" : "cannot notify")")
        }
        return .found(
            BottleTable(
                profile: profile, command: command.handle,
                commandWithResponse: command.properties.contains(.write),
                commandBothWays: command.properties.isSuperset(of: [.write, .writeWithoutResponse]),
                response: response.handle, responseNotifies: notifying != nil,
                responseReads: profile == .draft && response.properties.contains(.read)))
    }

    private init(
        profile: BottleProfile, command: UInt16, commandWithResponse: Bool, commandBothWays: Bool, response: UInt16,
        responseNotifies: Bool, responseReads: Bool
    ) {
        self.profile = profile
        self.command = command
        self.commandWithResponse = commandWithResponse
        self.commandBothWays = commandBothWays
        self.response = response
        self.responseNotifies = responseNotifies
        self.responseReads = responseReads
    }

    private static func characteristics(_ uuid: UInt16, in service: UInt16, _ services: [RemoteService]) -> [RemoteCharacteristic] {
        services.filter { $0.uuid == BluetoothUUID(service) }.flatMap(\.characteristics).filter { $0.uuid == BluetoothUUID(uuid) }
    }

    private static func readable(_ uuid: UInt16, in service: UInt16, _ services: [RemoteService]) -> UInt16? {
        characteristics(uuid, in: service, services).first { $0.properties.contains(.read) }?.handle
    }
}
