/// A library that unpacks one way of packing, step by step.
protocol PackedCoder: AnyObject {
    /// - Parameter isLast: no packed bytes follow these.
    func run(_ packed: UnsafeMutableRawBufferPointer, _ plain: UnsafeMutableRawBufferPointer, isLast: Bool)
        -> PackedStep
    /// Makes ready for another packed piece behind the end of one.
    func beginAgain() -> Bool
}

/// How far one step came.
struct PackedStep {
    enum State {
        case goesOn, needsMore, ended
        /// Why, for people.
        case broken(String)
    }

    /// Bytes used and bytes made.
    var taken: Int
    var given: Int
    var state: State
}
