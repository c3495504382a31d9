import BottleProtocol

extension RecordBatch {
    /// Each record's 13 bytes with the packet it came in.
    @inline(__always)
    func forEachRecord(_ body: (UnsafeRawBufferPointer, Source) throws -> Void) rethrows {
        try bytes.withUnsafeBytes { buffer in
            var index = 0
            for source in sources {
                while index < source.end, (index + 1) * DrinkRecord.size <= buffer.count {
                    try body(
                        UnsafeRawBufferPointer(
                            rebasing: buffer[(index * DrinkRecord.size)..<((index + 1) * DrinkRecord.size)]), source)
                    index += 1
                }
            }
        }
    }
}
