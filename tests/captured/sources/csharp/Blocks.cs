namespace Acme.Old
{
    namespace Inner
    {
        static class Extensions
        {
            internal static string Short(this string text) => text.Substring(0, 3);
        }
    }
}
