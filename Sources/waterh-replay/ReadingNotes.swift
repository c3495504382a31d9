import Bluetooth
import BottleProtocol
import Replay

/// Notes for the user about the reading of a capture.
final class ReadingNotes {
    private var pdus = 0
    private var encrypted = 0
    private var truncated = 0
    private var rejections: [[UInt8]: Int] = [:]
    private var unlistedRejections = 0
    private static let maximumListed = 20

    /// Counts the PDUs, encrypted connections and truncated packets.
    func count(_ event: ConversationEvent) {
        switch event {
        case .att: pdus += 1
        case .encrypted: encrypted += 1
        case .dropped(.truncatedRecord, _): truncated += 1
        default: break
        }
    }

    /// Prints one line for each distinct rejected record, up to a limit, and counts the others.
    func addRejected(_ record: RejectedRecord, _ run: CaptureRun) {
        guard rejections.count < Self.maximumListed || rejections[record.raw] != nil else {
            unlistedRejections += 1
            return
        }
        rejections[record.raw, default: 0] += 1
        guard rejections[record.raw] == 1 else { return }
        run.note(
            """
            frame \(record.frame): record \(hexText(record.raw)) of \(record.bottle.label) is rejected: \
            \(record.reason)
            """
        )
    }

    func print(_ name: String, peers: [BottlePeer], tally: DrinkReader.Tally, hadErrors: Bool, _ run: CaptureRun) {
        for peer in peers where peer.isBottle && peer.basis == .guessed {
            let handle = peer.responseHandle.map { "0x" + String($0, radix: 16) } ?? "?"
            run.note(
                """
                \(name): attribution: guessed: no discovery of \(peer.label) in the capture; by the format of its \
                values, handle \(handle) is the response characteristic
                """
            )
        }
        if tally.lookalikes > 0 {
            run.note(
                """
                \(name): ignored \(counted(tally.lookalikes, "record")) of devices that resemble a bottle but were \
                not identified as one; to count them, set --response-handle and --bottle
                """
            )
        }
        // After an error, which was printed, missing data needs no notes.
        if hadErrors { return }
        if encrypted > 0 {
            run.note(
                """
                \(name): \(counted(encrypted, "connection")) of the capture \(encrypted == 1 ? "is" : "are") \
                encrypted: encrypted traffic cannot be read
                """
            )
        }
        if truncated > 0 {
            run.note(
                """
                \(name): the capture has only a part of \(counted(truncated, "packet")): drinks or commands can be \
                missing
                """
            )
        }
        if unlistedRejections > 0 { run.note("\(name): \(counted(unlistedRejections, "more record")) rejected") }
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
            run.note("\(name): no WaterH bottle in this capture (\(counted(pdus, "ATT PDU"))); see waterh-replay info")
        }
    }
}
