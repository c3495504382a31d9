package import Bluetooth
package import BottleProtocol

/// A command that the host wrote to a bottle.
package struct ObservedCommand {
    package let bottle: BottlePeer
    package let command: HostCommand
    package let bytes: [UInt8]
    /// The written characteristic, if known.
    package let characteristic: BluetoothUUID?
    /// The number of the record with the last byte of the command.
    package let frame: Int
    /// The time since 1970.
    package let time: Duration?

    /// The command in plain English, with a note if it was written to the response characteristic.
    package var meaning: String {
        let uuid = characteristic
        guard BottleProfile.allCases.contains(where: { uuid == BluetoothUUID($0.responseCharacteristic) }), let uuid
        else { return command.meaning }
        let quirk =
            bytes == [0x01] || bytes == [0x01, 0x00] || bytes == [0xFF] ? " (bottles disconnect after this value)" : ""
        return "written to the response characteristic \(uuid)\(quirk): \(command.meaning)"
    }
}
