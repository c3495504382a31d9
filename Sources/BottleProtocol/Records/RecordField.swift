/// A field of the 13-byte drink record (protocol spec P3) as data.
package struct RecordField: Hashable, Sendable {
    package var key: String
    package var title: String
    package var offset: Int
    /// The size in bytes: 1, or 2 in big-endian order.
    package var size: Int
    /// `ml`, `ppm`, or empty.
    package var unit: String
}

extension DrinkRecord {
    /// All fields in the order of their bytes; together they are the whole record.
    package static let fields: [RecordField] = [
        RecordField(key: "year", title: "Year - 2000", offset: 0, size: 1, unit: ""),
        RecordField(key: "month", title: "Month", offset: 1, size: 1, unit: ""),
        RecordField(key: "day", title: "Day", offset: 2, size: 1, unit: ""),
        RecordField(key: "hour", title: "Hour", offset: 3, size: 1, unit: ""),
        RecordField(key: "minute", title: "Minute", offset: 4, size: 1, unit: ""),
        RecordField(key: "second", title: "Second", offset: 5, size: 1, unit: ""),
        RecordField(key: "amount", title: "Amount", offset: 6, size: 2, unit: "ml"),
        RecordField(key: "tds", title: "Dissolved solids", offset: 8, size: 2, unit: "ppm"),
        RecordField(key: "sensor", title: "Battery or temperature", offset: 10, size: 2, unit: ""),
        RecordField(key: "flag", title: "Flag", offset: 12, size: 1, unit: ""),
    ]
}
