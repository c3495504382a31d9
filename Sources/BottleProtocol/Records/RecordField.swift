/// A field of the 13-byte drink record (protocol law P3) as data, for whatever is made of it.
package struct RecordField: Hashable, Sendable {
    /// One word in lowerCamelCase.
    package var key: String
    /// For people.
    package var title: String
    /// Of its first byte in the record, and how many bytes it has: one, or two, big-endian.
    package var offset: Int
    /// How many bytes it has: 1, or 2 with the high byte first.
    package var size: Int
    /// `ml`, `ppm`; empty where it has none.
    package var unit: String
}

extension DrinkRecord {
    /// Every field, in the order of the bytes; together they are the whole record.
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
