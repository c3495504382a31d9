import Bluetooth
import BottleProtocol

/// The profile of a bottle and the handles of its characteristics (protocol spec P1.1).
///
/// Other devices also use UUIDs such as FFE0, so the characteristics must have the properties of the profile.
package struct BottleTable: Hashable, Sendable {
    package let profile: BottleProfile
    package let command: UInt16
    package let commandWithResponse: Bool
    package let response: UInt16
    let responseNotifies: Bool
    /// Whether responses can be read, as in the draft profile.
    let responseReads: Bool
    /// The handles of Device Name (2A00) and Serial Number String (2A25), if readable.
    package let deviceName: UInt16?
    package let serialNumber: UInt16?

    package struct NoBottle: Error, Hashable, Sendable {
        package let sentence: String
    }

    /// Finds the characteristics of a bottle. Prefers the retail profile if both match.
    package static func find(in services: [RemoteService]) throws(NoBottle) -> BottleTable {
        var reasons: [String] = []
        for profile in [BottleProfile.retail, .draft] {
            do {
                return try BottleTable(profile, services)
            } catch {
                reasons.append(error.sentence)
            }
        }
        let names = services.prefix(12).map(\.uuid.description).joined(separator: ", ")
        throw NoBottle(
            sentence: """
                it has \(names.isEmpty ? "no services" : "the services \(names)"): \
                \(reasons.joined(separator: "; ")).
                """)
    }

    private init(_ profile: BottleProfile, _ services: [RemoteService]) throws(NoBottle) {
        func offered(_ uuid: UInt16, in service: UInt16) -> [RemoteCharacteristic] {
            services.filter { $0.uuid == BluetoothUUID(service) }.flatMap(\.characteristics)
                .filter { $0.uuid == BluetoothUUID(uuid) }
        }
        let (commandName, responseName) = (profile.commandCharacteristic, profile.responseCharacteristic)
        let commands = offered(commandName, in: profile.commandService)
        let responses = offered(responseName, in: profile.responseService)
        for (name, found) in [(commandName, commands), (responseName, responses)] where found.isEmpty {
            throw NoBottle(sentence: "the \(profile.rawValue) profile's \(BluetoothUUID(name)) is missing")
        }
        guard let command = commands.first(where: { !$0.properties.isDisjoint(with: [.write, .writeWithoutResponse]) })
        else { throw NoBottle(sentence: "\(BluetoothUUID(commandName)) cannot be written") }
        let isDraft = profile == .draft
        let notifying = responses.first { !$0.properties.isDisjoint(with: [.notify, .indicate]) }
        guard let response = notifying ?? (isDraft ? responses.first { $0.properties.contains(.read) } : nil) else {
            let what = isDraft ? "can neither notify nor be read" : "cannot notify"
            throw NoBottle(sentence: "\(BluetoothUUID(responseName)) \(what)")
        }
        self.profile = profile
        self.command = command.handle
        commandWithResponse = command.properties.contains(.write)
        self.response = response.handle
        responseNotifies = notifying != nil
        responseReads = isDraft && response.properties.contains(.read)
        deviceName = offered(0x2A00, in: 0x1800).first { $0.properties.contains(.read) }?.handle
        serialNumber = offered(0x2A25, in: 0x180A).first { $0.properties.contains(.read) }?.handle
    }
}
