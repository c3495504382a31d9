/// The known missing parts of a dump, after which no later frame must be acknowledged.
struct MissingParts: Sendable {
    private var records: Set<DrinkRecord> = []
    /// Whether a part is missing that could not be recognised if the bottle sent it again.
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
