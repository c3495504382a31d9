/// What stands at `<p>/bridge/info`: who speaks here, and what may be asked.
struct BridgeInfo: Encodable, Hashable {
    var name = "waterh-bench"
    var version: String
    /// The store's, for ever the same.
    var id: String
    /// Another one for each connection: what an earlier one left at a broker that went away under it is told from what
    /// is said there now.
    var connection: String
    var prefix: String
    /// Commands that are obeyed at `<p>/cmd/NAME`; none where they are switched off.
    var commands: [String]
    var discovery: String?
    var bottles: [String]
    var sharesWaterline: Bool
}
