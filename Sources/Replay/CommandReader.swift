package import Bluetooth
package import BottleProtocol
package import Captures

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
        guard BottleProfile.allCases.contains(where: { uuid == BluetoothUUID($0.responseCharacteristic) }),
            let uuid
        else { return command.meaning }
        let quirk =
            bytes == [0x01] || bytes == [0x01, 0x00] || bytes == [0xFF] ? " (bottles disconnect after this value)" : ""
        return "written to the response characteristic \(uuid)\(quirk): \(command.meaning)"
    }
}

/// Finds the commands that hosts write to bottles in captures.
package final class CommandReader: EventReader {
    private let conversation: ConversationReader
    private var gate: TrafficGate?

    /// - Parameter filter: selects commands in these PDUs only; its device is the bottle.
    package init(
        given: GivenHandles = GivenHandles(), filter: TrafficFilter = TrafficFilter(),
        _ sink: @escaping (ObservedCommand) throws -> Void
    ) {
        gate = TrafficGate(ignoringDevice: filter)
        conversation = ConversationReader(given: given) { traffic, origin in
            guard case .command(let command, let value, let characteristic) = traffic else { return }
            if let device = filter.device, origin.side.peer.address != device { return }
            try sink(
                ObservedCommand(
                    bottle: origin.side.peer, command: command, bytes: value, characteristic: characteristic,
                    frame: origin.observation.frame, time: origin.observation.time))
        }
    }

    /// Reads a capture file to its end.
    /// - Parameter onEvent: called for each event before it is read.
    package func read(_ file: inout CaptureFile, _ onEvent: (ConversationEvent) -> Void = { _ in }) throws {
        let error = try file.feed([self], onEvent: { event, _ in onEvent(event) }).error
        try finishCapture()
        if let error { throw error }
    }

    func start(at time: Duration) { gate?.start(at: time) }

    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        guard gate?.passes(event, bytes) ?? true else { return }
        try conversation.receive(event, bytes)
    }

    package func addNames(from head: CaptureFileFacts) { conversation.addNames(from: head) }

    /// Ends the capture, and delivers complete data.
    package func finishCapture() throws { try conversation.finish() }

    package var peers: [BottlePeer] { conversation.peers }
}
