<?xml version="1.0"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/>
<xsl:key name="by-kind" match="item" use="@kind"/>
<xsl:template match="/">
  <xsl:for-each select="//item[generate-id() = generate-id(key('by-kind', @kind)[1])]">
    <xsl:sort select="@kind"/>
    <xsl:value-of select="concat(@kind, ': ', count(key('by-kind', @kind)), ' ',
      sum(key('by-kind', @kind)/weight), '&#10;')"/>
  </xsl:for-each>
</xsl:template>
</xsl:stylesheet>
