import BottleProtocol
import Bluetooth

extension BottleProfile {
    var command: BluetoothUUID { BluetoothUUID(commandCharacteristic) }
    var response: BluetoothUUID { BluetoothUUID(responseCharacteristic) }
}

/// The GATT tables of the emulated bottle (protocol spec P1).
enum BottleGATTTables {
    static let deviceInformation: BluetoothUUID = 0x180A
    static let serialNumber: BluetoothUUID = 0x2A25
    /// A keep-alive characteristic, as some bottles have. The real UUID is unknown, so this one is arbitrary.
    static let keepAlive: BluetoothUUID = 0xFFE6
    /// The firmware update service of Telink, as on bottles on sale. Writes have no effect.
    static let firmwareService = BluetoothUUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_1912)
    static let firmwareUpdate = BluetoothUUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_2B12)

    /// Returns the services of a bottle.
    /// - Parameter hasRadio: whether centrals know the bottle's address. Otherwise the serial number in a Device
    ///   Information service contains it; real bottles do not have this service.
    static func application(_ identity: BottleIdentity, hasKeepAlive: Bool, hasRadio: Bool) -> GATTApplication {
        let serial = LocalCharacteristic(
            uuid: serialNumber, properties: [.read], constant: Array(identity.address.description.utf8))
        let information = LocalService(uuid: deviceInformation, characteristics: [serial])
        let firmware = LocalService(
            uuid: firmwareService,
            characteristics: [
                LocalCharacteristic(uuid: firmwareUpdate, properties: .write)
            ])
        // Bottles on sale advertise no service. Clients of the draft profile scan for its service.
        let advertised = identity.profile.contains(.draft) ? [BluetoothUUID(BottleProfile.draft.commandService)] : []
        var services = hasRadio ? [] : [information]
        for profile in identity.profile.profiles {
            services += table(profile, hasKeepAlive: hasKeepAlive && profile == identity.profile.profiles.last)
        }
        if identity.profile.contains(.retail) { services.append(firmware) }
        return GATTApplication(name: identity.name, advertisedServices: advertised, services: services)
    }

    private static func table(_ profile: BottleProfile, hasKeepAlive: Bool) -> [LocalService] {
        // Real bottles accept every write to the response characteristic and disconnect after some.
        let response = LocalCharacteristic(
            uuid: profile.response, properties: profile == .draft ? [.read, .notify] : [.notify], acceptsAnyWrite: true)
        let command = LocalCharacteristic(
            uuid: profile.command,
            properties: profile == .draft ? [.write, .writeWithoutResponse] : [.writeWithoutResponse])
        var responses = [response]
        if hasKeepAlive { responses.append(LocalCharacteristic(uuid: keepAlive, properties: [.notify])) }
        guard profile.commandService != profile.responseService else {
            return [LocalService(uuid: BluetoothUUID(profile.commandService), characteristics: [command] + responses)]
        }
        return [
            LocalService(uuid: BluetoothUUID(profile.commandService), characteristics: [command]),
            LocalService(uuid: BluetoothUUID(profile.responseService), characteristics: responses),
        ]
    }
}
