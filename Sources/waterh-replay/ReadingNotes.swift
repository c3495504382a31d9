import Bluetooth
import Replay

/// Notes for the user about the reading of a capture.
final class ReadingNotes {
    private var pdus = 0
    private var encrypted = 0
    private var refusals: [[UInt8]: Int] = [:]
    private var tellsRefusals = 0
    private static let mostRefusals = 20

    /// Examines an event before the reader does.
    func see(_ event: ConversationEvent) {
        switch event {
        case .att: pdus += 1
        case .encrypted: encrypted += 1
        default: break
        }
    }

    /// Prints one line for each distinct rejected record, up to a limit, and counts the others.
    func refuse(_ record: RefusedRecord, _ run: CaptureRun) {
        guard refusals.count < Self.mostRefusals || refusals[record.raw] != nil else {
            tellsRefusals += 1
            return
        }
        refusals[record.raw, default: 0] += 1
        guard refusals[record.raw] == 1 else { return }
        run.note(
            """
            frame \(record.frame): record \(hexText(record.raw)) of \(record.bottle.label) is rejected: \
            \(record.reason)
            """
        )
    }

    /// Prints the notes after a capture was read.
    func say(_ name: String, peers: [BottlePeer], tally: DrinkReader.Tally, hadErrors: Bool, _ run: CaptureRun) {
        for peer in peers where peer.isBottle && peer.basis == .guessed {
            let handle = peer.responseHandle.map { "0x" + String($0, radix: 16) } ?? "?"
            run.note(
                """
                \(name): attribution: guessed: no discovery of \(peer.label) is in the capture; the frames' own \
                shape says that handle \(handle) is its response characteristic
                """
            )
        }
        if tally.lookalikes > 0 {
            run.note(
                """
                \(name): left out \(counted(tally.lookalikes, "record")) of devices that send a bottle's bytes but \
                were not found to be one; name the handle with --response-handle and the device with --bottle to \
                count them
                """
            )
        }
        // The error of the file shows where the reading ended, which explains missing data.
        if hadErrors { return }
        if encrypted > 0 {
            run.note(
                """
                \(name): \(counted(encrypted, "connection")) of the capture \(encrypted == 1 ? "is" : "are") \
                encrypted: encrypted traffic cannot be read
                """
            )
        }
        if tellsRefusals > 0 { run.note("\(name): \(counted(tellsRefusals, "more record")) rejected") }
        if tally.unfinishedTransfers > 0 {
            run.note(
                """
                \(name): \(counted(tally.unfinishedTransfers, "log transfer")) not complete in the capture; the \
                whole records of \(tally.unfinishedTransfers == 1 ? "it" : "them") are listed
                """
            )
        }
        if tally.malformed > 0 {
            run.note(
                """
                \(name): \(counted(tally.malformed, "value")) of the response characteristic \
                \(tally.malformed == 1 ? "is not a frame" : "are not frames")
                """
            )
        }
        if !peers.contains(where: \.isBottle) {
            run.note(
                """
                \(name): no WaterH bottle in this capture (\(counted(pdus, "ATT PDU"))); see waterh-replay info
                """
            )
        }
    }
}
