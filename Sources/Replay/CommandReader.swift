import Bluetooth
import BottleProtocol
import Captures

/// A command that the host wrote to a bottle.
package struct ObservedCommand {
    package let bottle: BottlePeer
    package let command: HostCommand
    /// As written.
    package let bytes: [UInt8]
    /// The characteristic that it was written to, where it is known.
    package let characteristic: BluetoothUUID?
    /// Number of the record in which its last byte went.
    package let frame: Int
    /// Time since 1970.
    package let time: Duration?

    /// The command as text.
    package var meaning: String {
        let place = characteristic
        guard BottleProfile.allCases.contains(where: { place == BluetoothUUID($0.responseCharacteristic) }),
            let place
        else { return command.meaning }
        let quirk =
            bytes == [0x01] || bytes == [0x01, 0x00] || bytes == [0xFF] ? "; bottles drop the connection for this" : ""
        return "written to the response characteristic \(place)\(quirk): \(command.meaning)"
    }
}

/// Finds the commands of one capture.
package final class CommandReader: EventReader {
    private let conversation: ConversationReader
    private var gate: TrafficGate?

    /// - Parameters:
    ///   - bottle: only this one's.
    ///   - filter: only commands that these PDUs carry; its device does not count, `bottle` does.
    package init(
        given: GivenHandles = GivenHandles(), bottle: BluetoothAddress? = nil, filter: TrafficFilter = TrafficFilter(),
        _ sink: @escaping (ObservedCommand) throws -> Void
    ) {
        gate = TrafficGate(besideDevice: filter)
        conversation = ConversationReader(given: given) { traffic, origin in
            guard case .command(let command, let value, let characteristic) = traffic else { return }
            if let bottle, origin.side.peer.address != bottle { return }
            try sink(
                ObservedCommand(
                    bottle: origin.side.peer, command: command, bytes: value, characteristic: characteristic,
                    frame: origin.observation.frame, time: origin.observation.time))
        }
    }

    /// Reads a whole capture.
    ///
    /// - Parameter see: called for each event before it is read.
    package func read(_ file: inout CaptureFile, _ see: (ConversationEvent) -> Void = { _ in }) throws {
        let error = try file.feed([self], see: { event, _ in see(event) }).error
        try finishCapture()
        if let error { throw error }
    }

    func start(at time: Duration) { gate?.start(at: time) }

    /// Takes the next event of a conversation, with the PDU that belongs to it.
    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        guard gate?.passes(event, bytes) ?? true else { return }
        try conversation.receive(event, bytes)
    }

    package func learn(_ head: CaptureFileFacts) { conversation.learn(head) }

    /// The capture has ended: delivers what is complete.
    package func finishCapture() throws { try conversation.finish() }

    /// All peers of the capture, in order of first connection.
    package var peers: [BottlePeer] { conversation.peers }
}
