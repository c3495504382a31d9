import TrackerCore

/// The order of a log's records by their own dates.
///
/// A log is in order; where it goes back in time the bottle's clock did, as a rule. But a link that loses and repeats
/// may deliver a frame after the one behind it, and then its records fit exactly between two that came before, and the
/// log goes on where it was.
enum LogOrder {
    /// - Parameters:
    ///   - times: of the records, in the order in which they came.
    ///   - jump: seconds back that are more than a change of clocks for the winter.
    /// - Returns: the places of records whose frame was overtaken. After the first step back that cannot be explained
    ///   so, none.
    static func overtaken(_ times: [Instant], jump: Double) -> [Int] {
        var places: [Int] = []
        // Those that are in order, ascending.
        var passed: [Instant] = []
        var index = 0
        while index < times.count {
            let time = times[index]
            guard let last = passed.last, time.seconds(to: last) > jump else {
                if passed.last.map({ $0 <= time }) ?? true { passed.append(time) }
                index += 1
                continue
            }
            let gap = passed.partitioningIndex { $0 > time }
            // Before all of them it may just as well be a clock that went back.
            guard gap > 0 else { return places }
            var end = index + 1
            while end < times.count, times[end] >= times[end - 1], times[end] < passed[gap] { end += 1 }
            guard end == times.count || times[end] >= last || times[end] < time else { return places }
            places += index..<end
            passed.insert(contentsOf: times[index..<end], at: gap)
            index = end
        }
        return places
    }
}

extension [Instant] {
    /// The first place from which on the condition holds, where it holds from some place on.
    fileprivate func partitioningIndex(where condition: (Instant) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
