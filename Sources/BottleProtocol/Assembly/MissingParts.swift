/// What is known to be missing from a dump, so that no later frame of it is acknowledged in its place.
struct MissingParts: Sendable {
    private var records: Set<DrinkRecord> = []
    /// Something went missing of which too little is known to recognise it in a restart.
    private var isHopeless = false

    mutating func note(_ transfer: LogTransfer) {
        guard transfer.count > 0, records.count < Frame.maximumPayload / DrinkRecord.size else {
            isHopeless = true
            return
        }
        records.formUnion(transfer.records().accepted)
    }

    mutating func noteUnknown() { isHopeless = true }

    func isCovered(by transfer: LogTransfer) -> Bool {
        guard !isHopeless else { return false }
        return records.isEmpty || records.isSubset(of: transfer.records().accepted)
    }
}
